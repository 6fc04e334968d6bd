//! THE table: every MPI function that the preloaded library stands in front of, declared once, with all that is known
//! of it.
//!
//! A line gives the kind, the name without `MPI_`, the parameters under the names that the standard gives them (these
//! say what each one is), and what the function means:
//!
//! * `collective`: recorded, with its non-blocking form, which has one parameter more, the request, and its
//!   persistent form (`X_init`), which has two more, info and request. `collective+c` has a variant with large counts.
//!   - `=>` names the rule of `interpose/src/identity/message_size.rs` that finds the message size, with the parameters
//!     that it reads; [`Size`] says what each rule counts.
//!   - `root` and `reduction` name the parameters with that role, `on` the communicator.
//!   - `as` gives the [`Pattern`]: which ranks wait for which.
//!   - `otf2` gives the name of its kind in OTF2, without `OTF2_COLLECTIVE_OP_`; `reprompi` the name under which
//!     ReproMPI measures it. Neither stands where there is none.
//! * `blocking`: recorded, and has this one form only. `blocking+c` has a variant with large counts. The line says the
//!   same as that of a `collective`, except `otf2`, `reprompi` and `reduction`. It may end in `with`: a function of ours
//!   that has to see the call, to know what its new handle means. Without a rule it has no data; without a pattern it
//!   is `usually_all_to_all`.
//!   - `on` names the communicator, or a group of words in parentheses: `(window win)` and `(file fh)` have numbers of
//!     their own for their calls, `at` is a parameter that is an address of the handle, and `(new newcomm)` is a
//!     communicator that only the call makes: only its ranks call it, and its first call is this one.
//! * `nonblocking`: the same, of a function whose last parameter is a request. `of` names the one that blocks.
//! * `guarded`: only forwarded, but MPI calls that the library makes inside are not the program's own.
//!   `guarded+c` as above.
//! * `observed`: handed to a function of ours, with a closure that forwards; not when called from inside another.
//! * `completing`: the same, only while a request that is followed is outstanding. `array` is all of its parameters.
//! * `freeing`: the same, also while one is prepared that is not.
//! * `counted`: the same, only where messages are counted. `counted+c` as above.
//! * `starting`: the same, only while a persistent collective exists.
//! * `forwarded`: only forwarded, but a thread is seen to be in it, as in all others.
//! * `lifecycle`: the same, always.
//! * `handling`: the same; what it forwards takes another error handler in place of the program's.
//!
//! `waits`, at the end of a line that is not recorded, gives calls that can wait two time stamps: their time counts in
//! this one of `mpitrace_format::layout::wait_class`. Calls that start or test something have none.
//!
//! `around` names a function of ours that forwards the call, within all that is done for its kind, and knows with whom
//! the rank waits. `then` names one that sees the arguments of a call that has returned well. A call that makes a
//! request and has neither makes one that is for no message.
//!
//! `into` names a parameter in whose place ours may pass something of its own: a status that the program does not want.
//!
//! Names with a slash between them are of functions that differ in nothing else.
//!
//! Each line makes `MPI_X` and `PMPI_X` (and those with `_c`, and those of the other forms). Adding a function is
//! adding a line: `interpose/` expands it to wrappers, [`Function::named`] gives what it says to all that reads traces.

mod function;
mod lookup;
pub mod types;

pub use function::{Form, Function, Pattern, Size};
pub use lookup::{add, blocking_name};

/// The lines of the table.
pub const TABLE: &str = stringify! {
    // Life and death.
    lifecycle Init(argc, argv) => lifecycle::init();
    lifecycle Init_thread(argc, argv, required, provided) => lifecycle::init();
    lifecycle Finalize() => lifecycle::finalize();
    lifecycle Session_init(info, errhandler, session) => sessions::init(session);
    lifecycle Session_finalize(session) => sessions::finalize(session);
    lifecycle Abort(comm, errorcode) => lifecycle::abort();
    // Takes what a tool wants behind the level: as much as registers hold is passed on.
    lifecycle Pcontrol(level, first, second, third, fourth, fifth) => lifecycle::pcontrol(level);

    // Collectives, blocking and non-blocking.
    collective Barrier, Ibarrier(comm)
        => nothing() on comm
        as all_to_all otf2 BARRIER reprompi MPI_Barrier;
    collective+c Bcast, Ibcast(buffer, count, datatype, root, comm)
        => uniform(count, datatype) root root on comm
        as one_to_all otf2 BCAST reprompi MPI_Bcast;
    collective+c Gather, Igather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm)
        => gathered(sendcount, sendtype, recvcount, recvtype) root root on comm
        as all_to_one otf2 GATHER reprompi MPI_Gather;
    collective+c Gatherv, Igatherv(
        sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm
    ) => gathered_by_rank(sendbuf, sendcount, sendtype, recvcounts, recvtype) root root on comm
        as all_to_one otf2 GATHERV;
    collective+c Scatter, Iscatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm)
        => scattered(sendcount, sendtype, recvcount, recvtype) root root on comm
        as one_to_all otf2 SCATTER reprompi MPI_Scatter;
    collective+c Scatterv, Iscatterv(
        sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm
    ) => scattered_by_rank(sendcounts, sendtype, recvbuf, recvcount, recvtype) root root on comm
        as one_to_all otf2 SCATTERV;
    collective+c Allgather, Iallgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)
        => uniform(recvcount, recvtype) on comm
        as all_to_all otf2 ALLGATHER reprompi MPI_Allgather;
    collective+c Allgatherv, Iallgatherv(
        sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm
    ) => contributed(sendbuf, sendcount, sendtype, recvcounts, recvtype) on comm
        as all_to_all otf2 ALLGATHERV;
    collective+c Alltoall, Ialltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)
        => uniform(recvcount, recvtype) on comm
        as all_to_all otf2 ALLTOALL reprompi MPI_Alltoall;
    collective+c Alltoallv, Ialltoallv(
        sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm
    ) => exchanged(sendbuf, sendcounts, sendtype, recvcounts, recvtype) on comm
        as all_to_all otf2 ALLTOALLV;
    collective+c Alltoallw, Ialltoallw(
        sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm
    ) => exchanged_by_type(sendbuf, sendcounts, sendtypes, recvcounts, recvtypes) on comm
        as all_to_all otf2 ALLTOALLW;
    collective+c Reduce, Ireduce(sendbuf, recvbuf, count, datatype, op, root, comm)
        => uniform(count, datatype) root root reduction op on comm
        as all_to_one otf2 REDUCE reprompi MPI_Reduce;
    collective+c Allreduce, Iallreduce(sendbuf, recvbuf, count, datatype, op, comm)
        => uniform(count, datatype) reduction op on comm
        as all_to_all otf2 ALLREDUCE reprompi MPI_Allreduce;
    collective+c Reduce_scatter_block, Ireduce_scatter_block(sendbuf, recvbuf, recvcount, datatype, op, comm)
        => uniform(recvcount, datatype) reduction op on comm
        as all_to_all otf2 REDUCE_SCATTER_BLOCK reprompi MPI_Reduce_scatter_block;
    collective+c Reduce_scatter, Ireduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op, comm)
        => summed(recvcounts, datatype) reduction op on comm
        as all_to_all otf2 REDUCE_SCATTER reprompi MPI_Reduce_scatter;
    collective+c Scan, Iscan(sendbuf, recvbuf, count, datatype, op, comm)
        => uniform(count, datatype) reduction op on comm
        as prefix otf2 SCAN reprompi MPI_Scan;
    collective+c Exscan, Iexscan(sendbuf, recvbuf, count, datatype, op, comm)
        => uniform(count, datatype) reduction op on comm
        as exclusive_prefix otf2 EXSCAN reprompi MPI_Exscan;

    // Collectives over the neighbours of a topology. Displacements of the w-variant are in bytes in both
    // widths. OTF2 has no kind for these: they count as the one that they are named after.
    collective+c Neighbor_allgather, Ineighbor_allgather(
        sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm
    ) => block_of_neighbours(sendcount, sendtype, recvcount, recvtype) on comm
        as neighbourhood otf2 ALLGATHER;
    collective+c Neighbor_allgatherv, Ineighbor_allgatherv(
        sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm
    ) => contributed_to_neighbours(sendcount, sendtype, recvcounts, recvtype) on comm
        as neighbourhood otf2 ALLGATHERV;
    collective+c Neighbor_alltoall, Ineighbor_alltoall(
        sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm
    ) => block_of_neighbours(sendcount, sendtype, recvcount, recvtype) on comm
        as neighbourhood otf2 ALLTOALL;
    collective+c Neighbor_alltoallv, Ineighbor_alltoallv(
        sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm
    ) => sent_to_neighbours(sendcounts, sendtype, recvcounts, recvtype) on comm
        as neighbourhood otf2 ALLTOALLV;
    collective+c Neighbor_alltoallw, Ineighbor_alltoallw(
        sendbuf, sendcounts, sdispls_in_bytes, sendtypes, recvbuf, recvcounts, rdispls_in_bytes, recvtypes,
        comm
    ) => sent_to_neighbours_by_type(sendcounts, sendtypes, recvcounts, recvtypes) on comm
        as neighbourhood otf2 ALLTOALLW;

    // What completes a request. With nothing outstanding these cost one branch.
    completing Wait(request, status) into status => completion::wait(array)
        around waiting::wait(request, status) waits point_to_point;
    completing Waitall(count, requests, statuses) into statuses => completion::wait(array)
        around waiting::wait_for(array) waits point_to_point;
    completing Waitany(count, requests, index, status) into status => completion::wait(array)
        around waiting::wait_for(array) waits point_to_point;
    completing Waitsome(count, requests, outcount, indices, statuses) into statuses => completion::wait(array)
        around waiting::wait_for(array) waits point_to_point;
    completing Test(request, flag, status) into status => completion::test(array)
        around waiting::test(array) then waiting::tested(array);
    completing Testall(count, requests, flag, statuses) into statuses => completion::test(array)
        around waiting::test(array) then waiting::tested(array);
    completing Testany(count, requests, index, flag, status) into status => completion::test(array)
        around waiting::test(array) then waiting::tested(array);
    completing Testsome(count, requests, outcount, indices, statuses) into statuses => completion::test(array)
        around waiting::test(array) then waiting::tested(array);
    completing Request_get_status(request, flag, status) into status
        => completion::get_status(request, flag, status);
    completing Request_get_status_all(count, requests, flag, statuses) into statuses
        => completion::get_status_of(array);
    completing Request_get_status_any(count, requests, index, flag, status) into status
        => completion::get_status_of(array);
    completing Request_get_status_some(count, requests, outcount, indices, statuses) into statuses
        => completion::get_status_of(array);
    forwarded Cancel(request) then messages::cancelled(request);
    guarded Grequest_start(query_fn, free_fn, cancel_fn, extra_state, request);
    freeing Request_free(request) => outstanding::free(request)
        around waiting::free(request);
    starting Start(request) => outstanding::start_prepared(1, request) then messages::started(1, request);
    starting Startall(count, requests) => outstanding::start_prepared(count, requests)
        then messages::started(count, requests);

    // Point-to-point messages.
    counted+c Send / Bsend / Ssend / Rsend(buf, count, datatype, dest, tag, comm) => p2p::sent(count, datatype, dest)
        around waiting::send(dest, tag, comm)
        then messages::sent(count, datatype, dest, tag, comm) waits point_to_point;
    counted+c Isend / Ibsend / Issend / Irsend(buf, count, datatype, dest, tag, comm, request)
        => p2p::sent(count, datatype, dest)
        then messages::sending(request, count, datatype, dest, tag, comm);
    counted+c Recv(buf, count, datatype, source, tag, comm, status) into status => p2p::received(status)
        around waiting::receive(datatype, source, tag, comm, status) waits point_to_point;
    counted+c Mrecv(buf, count, datatype, message, status) into status => p2p::received(status)
        around waiting::receive_found(message, status) waits point_to_point;
    counted+c Irecv(buf, count, datatype, source, tag, comm, request) => p2p::receiving(request)
        then messages::receiving(request, datatype, source, tag, comm);
    counted+c Imrecv(buf, count, datatype, message, request) => p2p::receiving(request)
        around messages::receiving_found(message, request);
    counted+c Sendrecv(
        sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, status
    ) into status => p2p::exchanged(sendcount, sendtype, dest, status)
        around waiting::exchange(dest, sendtag, recvtype, source, recvtag, comm, status)
        then messages::sent(sendcount, sendtype, dest, sendtag, comm) waits point_to_point;
    counted+c Sendrecv_replace(buf, count, datatype, dest, sendtag, source, recvtag, comm, status) into status
        => p2p::exchanged(count, datatype, dest, status)
        around waiting::exchange(dest, sendtag, datatype, source, recvtag, comm, status)
        then messages::sent(count, datatype, dest, sendtag, comm) waits point_to_point;
    counted+c Isendrecv(
        sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag,
        comm, request
    ) => p2p::exchanging(sendcount, sendtype, dest, request)
        then messages::exchanging(request, sendcount, sendtype, dest, sendtag, recvtype, source, recvtag, comm);
    counted+c Isendrecv_replace(buf, count, datatype, dest, sendtag, source, recvtag, comm, request)
        => p2p::exchanging(count, datatype, dest, request)
        then messages::exchanging(request, count, datatype, dest, sendtag, datatype, source, recvtag, comm);
    counted+c Send_init / Bsend_init / Ssend_init / Rsend_init(buf, count, datatype, dest, tag, comm, request)
        => p2p::preparing_send(count, datatype, dest, request)
        then messages::preparing_send(request, count, datatype, dest, tag, comm);
    counted+c Recv_init(buf, count, datatype, source, tag, comm, request)
        => p2p::preparing_receive(request)
        then messages::preparing_receive(request, datatype, source, tag, comm);
    counted Psend_init(buf, partitions, count, datatype, dest, tag, comm, info, request)
        => p2p::preparing_partitions(partitions, count, datatype, dest, request)
        then messages::preparing_partitions(request, partitions, count, datatype, dest, tag, comm);
    counted Precv_init(buf, partitions, count, datatype, source, tag, comm, info, request)
        => p2p::preparing_receive(request)
        then messages::preparing_receive(request, datatype, source, tag, comm);

    forwarded Probe(source, tag, comm, status) into status
        around waiting::probe(source, tag, comm, status) waits point_to_point;
    forwarded Iprobe(source, tag, comm, flag, status);
    forwarded Mprobe(source, tag, comm, message, status) into status
        around waiting::find(source, tag, comm, message, status) waits point_to_point;
    forwarded Improbe(source, tag, comm, flag, message, status)
        then messages::looked_for(message, flag, source, tag, comm, status);

    // One-sided messages.
    counted+c Put(
        origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype, win
    ) => p2p::put(origin_count, origin_datatype, target_rank);
    counted+c Rput(
        origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
        target_datatype, win, request
    ) => p2p::put(origin_count, origin_datatype, target_rank);
    counted+c Get(
        origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype, win
    ) => p2p::got(origin_count, origin_datatype, target_rank);
    counted+c Rget(
        origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
        target_datatype, win, request
    ) => p2p::got(origin_count, origin_datatype, target_rank);
    counted+c Accumulate(
        origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
        target_datatype, op, win
    ) => p2p::put(origin_count, origin_datatype, target_rank);
    counted+c Raccumulate(
        origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
        target_datatype, op, win, request
    ) => p2p::put(origin_count, origin_datatype, target_rank);
    counted+c Get_accumulate(
        origin_addr, origin_count, origin_datatype, result_addr, result_count, result_datatype, target_rank,
        target_disp, target_count, target_datatype, op, win
    ) => p2p::fetched(origin_count, origin_datatype, result_count, result_datatype, target_rank, op);
    counted+c Rget_accumulate(
        origin_addr, origin_count, origin_datatype, result_addr, result_count, result_datatype, target_rank,
        target_disp, target_count, target_datatype, op, win, request
    ) => p2p::fetched(origin_count, origin_datatype, result_count, result_datatype, target_rank, op);
    counted Fetch_and_op(origin_addr, result_addr, datatype, target_rank, target_disp, op, win)
        => p2p::fetched_one(datatype, target_rank, op);
    counted Compare_and_swap(origin_addr, compare_addr, result_addr, datatype, target_rank, target_disp, win)
        => p2p::swapped(datatype, target_rank);

    // What makes communicators. MPI lets none of these be used to put calls of different ranks in order, and a
    // library may make a communicator without a message; most of them wait for all ranks.
    blocking Comm_dup(comm, newcomm) on comm with communicators::duplicated(comm, newcomm);
    blocking Comm_dup_with_info(comm, info, newcomm) on comm with communicators::duplicated(comm, newcomm);
    nonblocking Comm_idup(comm, newcomm, request) of Comm_dup
        on comm with communicators::duplicated_later(comm, newcomm, request);
    nonblocking Comm_idup_with_info(comm, info, newcomm, request) of Comm_dup_with_info
        or Comm_idup(comm, newcomm, request) on comm with communicators::duplicated_later(comm, newcomm, request);
    blocking Comm_create(comm, group, newcomm) on comm with communicators::created(comm, newcomm);
    blocking Comm_create_group(comm, group, tag, newcomm)
        on (new newcomm) with communicators::created_by_group(comm, tag, newcomm);
    blocking Comm_create_from_group(group, stringtag, info, errhandler, newcomm)
        on (new newcomm) with communicators::created_from_groups(stringtag, newcomm);
    blocking Comm_split(comm, color, key, newcomm) on comm with communicators::created(comm, newcomm);
    blocking Comm_split_type(comm, split_type, key, info, newcomm) on comm with communicators::created(comm, newcomm);
    blocking Cart_create(comm, ndims, dims, periods, reorder, newcomm)
        on comm with communicators::created(comm, newcomm);
    blocking Cart_sub(comm, remain_dims, newcomm) on comm with communicators::created(comm, newcomm);
    blocking Graph_create(comm, nnodes, index, edges, reorder, newcomm)
        on comm with communicators::created(comm, newcomm);
    blocking Dist_graph_create(comm, n, sources, degrees, destinations, weights, info, reorder, newcomm)
        on comm with communicators::created(comm, newcomm);
    blocking Dist_graph_create_adjacent(
        comm, indegree, sources, sourceweights, outdegree, destinations, destweights, info, reorder, newcomm
    ) on comm
        with communicators::created(comm, newcomm);
    blocking Intercomm_create(local_comm, local_leader, peer_comm, remote_leader, tag, newintercomm)
        on local_comm with communicators::connected(tag, newintercomm);
    blocking Intercomm_create_from_groups(
        local_group, local_leader, remote_group, remote_leader, stringtag, info, errhandler, newintercomm
    ) on (new newintercomm)
        with communicators::created_from_groups(stringtag, newintercomm);
    blocking Intercomm_merge(intercomm, high, newintracomm)
        on intercomm with communicators::created(intercomm, newintracomm);
    blocking Comm_spawn(command, argv, maxprocs, info, root, comm, intercomm, array_of_errcodes)
        root root on comm with communicators::spawned(comm, intercomm);
    blocking Comm_spawn_multiple(count, commands, argvs, maxprocs, infos, root, comm, intercomm, array_of_errcodes)
        root root on comm with communicators::spawned(comm, intercomm);
    blocking Comm_accept / Comm_connect(port_name, info, root, comm, newcomm)
        root root on comm with communicators::met(newcomm);

    // What changes and frees communicators.
    blocking Comm_set_info(comm, info) on comm as none;
    blocking Comm_free(comm) on (at comm) as none with communicators::freed(comm);
    blocking Comm_disconnect(comm) on (at comm) with communicators::freed(comm);

    // No collective: of two processes that have a socket, and local ones.
    observed Comm_join(fd, intercomm) => communicators::joined(intercomm) waits other_mpi;
    observed Comm_get_parent(parent) => communicators::spawned_by(parent);
    observed Comm_set_name(comm, comm_name) => communicators::named(comm, comm_name);

    // Error handlers of the program: a thread is seen to be in one.
    handling Comm_create_errhandler(comm_errhandler_fn, errhandler) into comm_errhandler_fn
        => error_handlers::create(comm_errhandler_fn);
    handling Win_create_errhandler(win_errhandler_fn, errhandler) into win_errhandler_fn
        => error_handlers::create(win_errhandler_fn);
    handling File_create_errhandler(file_errhandler_fn, errhandler) into file_errhandler_fn
        => error_handlers::create(file_errhandler_fn);
    handling Session_create_errhandler(session_errhandler_fn, errhandler) into session_errhandler_fn
        => error_handlers::create(session_errhandler_fn);

    // What makes and frees data types.
    observed Type_commit(datatype) => datatype::commit(datatype);
    observed Type_dup(oldtype, newtype) => datatype::dup(oldtype, newtype);
    observed Type_free(datatype) => datatype::free(datatype);

    // Input and output. The size is what this rank reads or writes; `end` of a split pair has no size. What the
    // library calls inside, as ROMIO does PMPI_Allreduce, is not recorded.
    blocking File_open(comm, filename, amode, info, fh) on comm with files::opened(comm, filename, fh);
    blocking File_close(fh) on (file at fh) with files::closed(fh);
    blocking File_set_size / File_preallocate(fh, size) => in_bytes(size) on (file fh);
    blocking File_set_info(fh, info) on (file fh);
    blocking File_set_view(fh, disp, etype, filetype, datarep, info) on (file fh);
    blocking File_set_atomicity(fh, flag) on (file fh);
    blocking File_sync(fh) on (file fh);
    blocking File_seek_shared(fh, offset, whence) on (file fh);
    blocking+c File_read_all / File_read_ordered / File_write_all / File_write_ordered(fh, buf, count, datatype, status)
        => own(count, datatype) on (file fh);
    blocking+c File_read_at_all / File_write_at_all(fh, offset, buf, count, datatype, status)
        => own(count, datatype) on (file fh);
    nonblocking+c File_iread_all(fh, buf, count, datatype, request) of File_read_all
        => own(count, datatype) on (file fh);
    nonblocking+c File_iread_at_all(fh, offset, buf, count, datatype, request) of File_read_at_all
        => own(count, datatype) on (file fh);
    blocking+c File_read_all_begin / File_read_ordered_begin / File_write_all_begin / File_write_ordered_begin(
        fh, buf, count, datatype
    ) => own(count, datatype) on (file fh);
    blocking File_read_all_end / File_read_at_all_end / File_read_ordered_end
        / File_write_all_end / File_write_at_all_end / File_write_ordered_end(fh, buf, status)
        on (file fh);
    blocking+c File_read_at_all_begin / File_write_at_all_begin(fh, offset, buf, count, datatype)
        => own(count, datatype) on (file fh);
    nonblocking+c File_iwrite_all(fh, buf, count, datatype, request) of File_write_all
        => own(count, datatype) on (file fh);
    nonblocking+c File_iwrite_at_all(fh, offset, buf, count, datatype, request) of File_write_at_all
        => own(count, datatype) on (file fh);

    // Of one rank: the library may call collectives inside all the same.
    guarded File_delete(filename, info) waits io;
    guarded File_get_size(fh, size) waits io;
    guarded File_get_info(fh, info_used) waits io;
    guarded File_seek(fh, offset, whence) waits io;
    guarded File_get_position_shared(fh, offset) waits io;
    guarded+c File_read / File_read_shared / File_write / File_write_shared(fh, buf, count, datatype, status) waits io;
    guarded+c File_read_at / File_write_at(fh, offset, buf, count, datatype, status) waits io;
    guarded+c File_iread / File_iread_shared / File_iwrite / File_iwrite_shared(
        fh, buf, count, datatype, request
    ) waits io;
    guarded+c File_iread_at / File_iwrite_at(fh, offset, buf, count, datatype, request) waits io;

    // Windows. The size is this rank's share.
    blocking+c Win_create(base, size, disp_unit, info, comm, win)
        => own_in_bytes(size) on comm with windows::made(comm, win);
    blocking+c Win_allocate(size, disp_unit, info, comm, baseptr, win)
        => own_in_bytes(size) on comm with windows::made(comm, win);
    blocking+c Win_allocate_shared(size, disp_unit, info, comm, baseptr, win)
        => own_in_bytes(size) on comm with windows::made(comm, win);
    blocking Win_create_dynamic(info, comm, win) on comm with windows::made(comm, win);
    blocking Win_free(win) on (window at win) with windows::freed(win);
    blocking Win_fence(assert, win) on (window win);
    blocking Win_set_info(win, info) on (window win) as none;
    observed Win_set_name(win, win_name) => windows::named(win, win_name);

    // Of one rank, or of some ranks that meet.
    guarded Win_attach(win, base, size) waits other_mpi;
    guarded Win_detach(win, base) waits other_mpi;
    guarded Win_post(group, assert, win) around epochs::post(group, win);
    guarded Win_start(group, assert, win) around epochs::start(group, win) waits one_sided;
    guarded Win_complete(win) around epochs::complete(win) waits one_sided;
    guarded Win_wait(win) around epochs::wait(win) waits one_sided;
    guarded Win_test(win, flag);
    guarded Win_lock(lock_type, rank, assert, win) around waiting::on_window(win) waits one_sided;
    guarded Win_unlock / Win_flush / Win_flush_local(rank, win) around waiting::on_window(win) waits one_sided;
    guarded Win_lock_all(assert, win) around waiting::on_window(win) waits one_sided;
    guarded Win_unlock_all / Win_flush_all / Win_flush_local_all(win) around waiting::on_window(win) waits one_sided;
    guarded Win_sync(win);
};
