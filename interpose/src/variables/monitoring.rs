//! What is known better of Open MPI's monitoring component than it says of itself.
//!
//! Its messages and bytes for each peer are declared as sizes of a communicator. They only ever grow, and the library gives
//! them for MPI_COMM_WORLD alone, with the messages on all communicators in them, by world rank
//! (ompi/mca/common/monitoring/common_monitoring.c, `mca_common_monitoring_get_messages_count`: any other communicator is an
//! error).

/// Whether a variable counts for each rank of MPI_COMM_WORLD, whatever communicator is used.
pub fn counts_for_each_peer(name: &str) -> bool {
    ["pml", "coll", "osc"]
        .iter()
        .any(|layer| name.strip_prefix(layer).is_some_and(|rest| rest.starts_with("_monitoring_messages_")))
}

#[cfg(test)]
mod tests {
    use super::counts_for_each_peer;

    #[test]
    fn messages_and_bytes_for_each_peer_are_counters() {
        for name in
            ["coll_monitoring_messages_count", "pml_monitoring_messages_size", "osc_monitoring_messages_sent_count"]
        {
            assert!(counts_for_each_peer(name), "{name}");
        }
        for name in ["coll_monitoring_a2a_count", "pml_monitoring_flush", "pml_ob1_posted_recvq_length"] {
            assert!(!counts_for_each_peer(name), "{name}");
        }
    }
}
