/* fatal KIND: rank 1 makes a mistake of this kind under MPI_ERRORS_ARE_FATAL, while the others wait for it in a barrier.
 * `fatal list` prints the kinds, each with the function that the mistake is made in. What a library takes for right it
 * says so of, or it waits until an alarm ends it. */
#include "report.h"

#include <unistd.h>

static MPI_Comm world_comm = MPI_COMM_WORLD, none = MPI_COMM_NULL, made;
static MPI_Datatype no_type = MPI_DATATYPE_NULL, of_type;
static MPI_Request request;
static MPI_Group group, part;
/* Of all ranks, and of this one alone. */
static MPI_Win all, window;
static MPI_Info info;
static double data[64], more[64];
static int number, flag, numbers[16] = {1, 1, 1, 1, 0, 0, 0, 0, 99};
/* Seen by no compiler, which would warn of them. */
static volatile int far = 99, negative = -7;
static char text[MPI_MAX_PORT_NAME + 1];
static MPI_Aint address;
#define IGNORED MPI_STATUS_IGNORE

static void send_rank(void) { MPI_Send(data, 1, MPI_DOUBLE, far, 0, MPI_COMM_WORLD); }
static void send_tag(void) { MPI_Send(data, 1, MPI_DOUBLE, 0, negative, MPI_COMM_WORLD); }
static void send_count(void) { MPI_Ssend(data, negative, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD); }
static void send_type(void) { MPI_Send(data, 1, no_type, 0, 0, MPI_COMM_WORLD); }
static void send_uncommitted(void)
{
    MPI_Type_contiguous(3, MPI_INT, &of_type);
    MPI_Send(data, 1, of_type, 0, 0, MPI_COMM_WORLD);
}
static void send_comm(void) { MPI_Send(data, 1, MPI_DOUBLE, 0, 0, none); }
static void bsend_buffer(void) { MPI_Bsend(data, 8, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD); }
static void isend_rank(void) { MPI_Isend(data, 1, MPI_DOUBLE, far, 0, MPI_COMM_WORLD, &request); }
static void recv_rank(void) { MPI_Recv(data, 1, MPI_DOUBLE, far, 0, MPI_COMM_WORLD, IGNORED); }
static void recv_truncated(void)
{
    MPI_Isend(data, 8, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD, &request);
    MPI_Recv(more, 1, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD, IGNORED);
}
static void irecv_tag(void) { MPI_Irecv(data, 1, MPI_DOUBLE, 0, negative, MPI_COMM_WORLD, &request); }
static void sendrecv_rank(void)
{
    MPI_Sendrecv(data, 1, MPI_DOUBLE, far, 0, more, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, IGNORED);
}
static void probe_rank(void) { MPI_Probe(far, 0, MPI_COMM_WORLD, IGNORED); }
static void iprobe_rank(void) { MPI_Iprobe(far, 0, MPI_COMM_WORLD, &flag, IGNORED); }
static void send_init_rank(void) { MPI_Send_init(data, 1, MPI_DOUBLE, far, 0, MPI_COMM_WORLD, &request); }
static void start_null(void)
{
    request = MPI_REQUEST_NULL;
    MPI_Start(&request);
}
static void cancel_null(void)
{
    request = MPI_REQUEST_NULL;
    MPI_Cancel(&request);
}
static void free_null(void)
{
    request = MPI_REQUEST_NULL;
    MPI_Request_free(&request);
}
static void waitall_count(void) { MPI_Waitall(negative, &request, MPI_STATUSES_IGNORE); }
static void get_count_type(void)
{
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
    MPI_Get_count(&status, no_type, &number);
}
static void barrier_comm(void) { MPI_Barrier(none); }
static void bcast_count(void) { MPI_Bcast(data, negative, MPI_DOUBLE, 0, MPI_COMM_WORLD); }
static void bcast_root(void) { MPI_Bcast(data, 1, MPI_DOUBLE, far, MPI_COMM_WORLD); }
static void bcast_type(void) { MPI_Bcast(data, 1, no_type, 0, MPI_COMM_WORLD); }
static void reduce_op(void) { MPI_Reduce(data, more, 1, MPI_DOUBLE, MPI_OP_NULL, 0, MPI_COMM_WORLD); }
static void allreduce_op(void) { MPI_Allreduce(data, more, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD); }
static void allreduce_alias(void) { MPI_Allreduce(data, data, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }
static void gather_root(void) { MPI_Gather(data, 1, MPI_DOUBLE, more, 1, MPI_DOUBLE, negative, MPI_COMM_WORLD); }
static void alltoall_count(void)
{
    MPI_Alltoall(data, negative, MPI_DOUBLE, more, negative, MPI_DOUBLE, MPI_COMM_WORLD);
}
static void ibarrier_comm(void) { MPI_Ibarrier(none, &request); }
static void ibcast_root(void) { MPI_Ibcast(data, 1, MPI_DOUBLE, far, MPI_COMM_WORLD, &request); }
static void igather_root(void)
{
    MPI_Igather(data, 1, MPI_DOUBLE, more, 1, MPI_DOUBLE, far, MPI_COMM_WORLD, &request);
}
static void ireduce_op(void)
{
    MPI_Ireduce(data, more, 1, MPI_DOUBLE, MPI_OP_NULL, 0, MPI_COMM_WORLD, &request);
}
static void split_color(void) { MPI_Comm_split(MPI_COMM_WORLD, negative, 0, &made); }
static void dup_null(void) { MPI_Comm_dup(none, &made); }
static void free_world(void) { MPI_Comm_free(&world_comm); }
static void rank_null(void) { MPI_Comm_rank(none, &number); }
static void size_null(void) { MPI_Comm_size(none, &number); }
static void cart_size(void)
{
    int dims[2] = {50, 50}, periods[2] = {0, 0};
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &made);
}
static void cart_shift(void) { MPI_Cart_shift(MPI_COMM_WORLD, 0, 1, &number, &flag); }
static void dims_create(void)
{
    int dims[2] = {7, 0};
    MPI_Dims_create(3, 2, dims);
}
static void group_incl(void)
{
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Group_incl(group, 1, numbers + 8, &part);
}
static void type_commit(void) { MPI_Type_commit(&no_type); }
static void type_vector(void) { MPI_Type_vector(negative, 1, 1, MPI_INT, &of_type); }
static void type_size(void) { MPI_Type_size(no_type, &number); }
static void type_free(void)
{
    MPI_Datatype of_mpi = MPI_INT;
    MPI_Type_free(&of_mpi);
}
static void op_free(void)
{
    MPI_Op sum = MPI_SUM;
    MPI_Op_free(&sum);
}
static void pack_size(void) { MPI_Pack(data, 8, MPI_DOUBLE, more, 2, &number, MPI_COMM_WORLD); }
static void keyval_free(void) { MPI_Comm_set_attr(MPI_COMM_WORLD, far * 1000, data); }
static void info_key(void)
{
    MPI_Info_create(&info);
    MPI_Info_delete(info, "not there");
}
static void put_rank(void)
{
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, all);
    MPI_Put(data, 1, MPI_DOUBLE, far, 0, 1, MPI_DOUBLE, all);
}
static void put_epoch(void) { MPI_Put(data, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, all); }
static void win_lock_rank(void) { MPI_Win_lock(MPI_LOCK_SHARED, far, 0, all); }
static void win_size(void) { MPI_Win_create(data, negative, 8, MPI_INFO_NULL, MPI_COMM_SELF, &window); }
static void alloc_mem(void) { MPI_Alloc_mem(negative, MPI_INFO_NULL, &address); }
static void lookup_name(void) { MPI_Lookup_name("of nobody", MPI_INFO_NULL, text); }
static void connect_port(void) { MPI_Comm_connect("no port", MPI_INFO_NULL, 0, MPI_COMM_SELF, &made); }
static void spawn_program(void)
{
    MPI_Comm_spawn("/nonexistent/program", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &made, numbers);
}
static void barrier_freed(void)
{
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_SELF, &made);
    copy = made;
    MPI_Comm_free(&made);
    MPI_Barrier(copy);
}
static void bcast_freed_type(void)
{
    MPI_Datatype copy;
    MPI_Type_contiguous(3, MPI_INT, &of_type);
    MPI_Type_commit(&of_type);
    copy = of_type;
    MPI_Type_free(&of_type);
    MPI_Bcast(data, 1, copy, 0, MPI_COMM_WORLD);
}
static void bcast_uncommitted(void)
{
    MPI_Type_contiguous(3, MPI_INT, &of_type);
    MPI_Bcast(data, 1, of_type, 0, MPI_COMM_WORLD);
}
static void gather_type(void) { MPI_Gather(data, 1, MPI_DOUBLE, more, 1, no_type, 1, MPI_COMM_WORLD); }
static void alltoallw_type(void)
{
    MPI_Datatype types[16];
    for (int i = 0; i < 16; i++) types[i] = no_type;
    MPI_Alltoallw(data, numbers, numbers, types, more, numbers, numbers, types, MPI_COMM_WORLD);
}
static void fence_null(void)
{
    window = MPI_WIN_NULL;
    MPI_Win_fence(0, window);
}
static void isend_type(void) { MPI_Isend(data, 1, no_type, 0, 0, MPI_COMM_WORLD, &request); }
static void put_type(void) { MPI_Put(data, 1, no_type, 0, 0, 1, no_type, all); }
#if MPI_VERSION >= 4
static void pready_partition(void)
{
    MPI_Psend_init(data, 4, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Pready(far, request);
}
static void pready_inactive(void)
{
    MPI_Psend_init(data, 4, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Pready(0, request);
}
static void parrived_of_send(void)
{
    MPI_Psend_init(data, 4, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Parrived(request, far, &flag);
}
#endif

static struct { const char *name, *function; void (*make)(void); } kinds[] = {
#define KIND(name, function) {#name, #function, name},
    KIND(send_rank, MPI_Send)
    KIND(send_tag, MPI_Send)
    KIND(send_count, MPI_Ssend)
    KIND(send_type, MPI_Send)
    KIND(send_uncommitted, MPI_Send)
    KIND(send_comm, MPI_Send)
    KIND(bsend_buffer, MPI_Bsend)
    KIND(isend_rank, MPI_Isend)
    KIND(isend_type, MPI_Isend)
    KIND(recv_rank, MPI_Recv)
    KIND(recv_truncated, MPI_Recv)
    KIND(irecv_tag, MPI_Irecv)
    KIND(sendrecv_rank, MPI_Sendrecv)
    KIND(probe_rank, MPI_Probe)
    KIND(iprobe_rank, MPI_Iprobe)
    KIND(send_init_rank, MPI_Send_init)
    KIND(start_null, MPI_Start)
    KIND(cancel_null, MPI_Cancel)
    KIND(free_null, MPI_Request_free)
    KIND(waitall_count, MPI_Waitall)
    KIND(get_count_type, MPI_Get_count)
    KIND(barrier_comm, MPI_Barrier)
    KIND(bcast_count, MPI_Bcast)
    KIND(bcast_root, MPI_Bcast)
    KIND(bcast_type, MPI_Bcast)
    KIND(bcast_freed_type, MPI_Bcast)
    KIND(bcast_uncommitted, MPI_Bcast)
    KIND(barrier_freed, MPI_Barrier)
    KIND(gather_type, MPI_Gather)
    KIND(alltoallw_type, MPI_Alltoallw)
    KIND(reduce_op, MPI_Reduce)
    KIND(allreduce_op, MPI_Allreduce)
    KIND(allreduce_alias, MPI_Allreduce)
    KIND(gather_root, MPI_Gather)
    KIND(alltoall_count, MPI_Alltoall)
    KIND(ibarrier_comm, MPI_Ibarrier)
    KIND(ibcast_root, MPI_Ibcast)
    KIND(igather_root, MPI_Igather)
    KIND(ireduce_op, MPI_Ireduce)
    KIND(split_color, MPI_Comm_split)
    KIND(dup_null, MPI_Comm_dup)
    KIND(free_world, MPI_Comm_free)
    KIND(rank_null, MPI_Comm_rank)
    KIND(size_null, MPI_Comm_size)
    KIND(cart_size, MPI_Cart_create)
    KIND(cart_shift, MPI_Cart_shift)
    KIND(dims_create, MPI_Dims_create)
    KIND(group_incl, MPI_Group_incl)
    KIND(type_commit, MPI_Type_commit)
    KIND(type_vector, MPI_Type_vector)
    KIND(type_size, MPI_Type_size)
    KIND(type_free, MPI_Type_free)
    KIND(op_free, MPI_Op_free)
    KIND(pack_size, MPI_Pack)
    KIND(keyval_free, MPI_Comm_set_attr)
    KIND(info_key, MPI_Info_delete)
    KIND(put_rank, MPI_Put)
    KIND(put_epoch, MPI_Put)
    KIND(win_lock_rank, MPI_Win_lock)
    KIND(put_type, MPI_Put)
    KIND(fence_null, MPI_Win_fence)
    KIND(win_size, MPI_Win_create)
    KIND(alloc_mem, MPI_Alloc_mem)
    KIND(lookup_name, MPI_Lookup_name)
    KIND(connect_port, MPI_Comm_connect)
    KIND(spawn_program, MPI_Comm_spawn)
#if MPI_VERSION >= 4
    KIND(pready_partition, MPI_Pready)
    KIND(pready_inactive, MPI_Pready)
    KIND(parrived_of_send, MPI_Parrived)
#endif
};

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "list";
    const int count = sizeof kinds / sizeof *kinds;
    if (!strcmp(kind, "list")) {
        for (int i = 0; i < count; i++) printf("%s %s\n", kinds[i].name, kinds[i].function);
        return 0;
    }
    alarm(10);
    MPI_Init(&argc, &argv);
    world();
    MPI_Win_create(data, sizeof data, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &all);
    for (int i = 0; i < 10; i++) MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 1) {
        /* The others wait by then. */
        usleep(200000);
        for (int i = 0; i < count; i++) if (!strcmp(kind, kinds[i].name)) kinds[i].make();
        /* The library has taken it for right: it says so, and the job goes on. */
        printf("no mistake\n");
        fflush(stdout);
        _exit(0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
