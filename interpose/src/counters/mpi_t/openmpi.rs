//! What is known better of variables of Open MPI than they say of themselves.
//!
//! Its monitoring component declares messages and bytes for each peer as sizes of a communicator. They only ever grow,
//! and the library gives them for MPI_COMM_WORLD alone, with the messages on all communicators in them, by world rank
//! (ompi/mca/common/monitoring/common_monitoring.c, `mca_common_monitoring_get_messages_count`: any other communicator
//! is an error). Its software performance counters are sizes too in most versions (ompi/runtime/ompi_spc.c,
//! `mpi_t_init`), though only the lengths of queues are any.

/// Whether a variable counts for each rank of MPI_COMM_WORLD, whatever communicator is used.
pub fn counts_for_each_peer(name: &str) -> bool {
    ["pml", "coll", "osc"]
        .iter()
        .any(|layer| name.strip_prefix(layer).is_some_and(|rest| rest.starts_with("_monitoring_messages_")))
}

/// Whether a variable that is declared as a size only ever grows, and so is a counter.
pub fn only_grows(name: &str) -> bool {
    let counts_events = name.starts_with("runtime_spc_OMPI_SPC_") && !name.ends_with("_IN_QUEUE");
    counts_events || counts_for_each_peer(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_bytes_for_each_peer_are_counters() {
        for name in
            ["coll_monitoring_messages_count", "pml_monitoring_messages_size", "osc_monitoring_messages_sent_count"]
        {
            assert!(counts_for_each_peer(name) && only_grows(name), "{name}");
        }
        for name in ["coll_monitoring_a2a_count", "pml_monitoring_flush", "pml_ob1_posted_recvq_length"] {
            assert!(!counts_for_each_peer(name) && !only_grows(name), "{name}");
        }
    }

    #[test]
    fn software_performance_counters_are_counters_but_for_the_lengths_of_queues() {
        assert!(only_grows("runtime_spc_OMPI_SPC_ALLREDUCE"));
        assert!(!only_grows("runtime_spc_OMPI_SPC_MAX_UNEXPECTED_IN_QUEUE"));
        assert!(!counts_for_each_peer("runtime_spc_OMPI_SPC_ALLREDUCE"));
    }
}
