//! Facts about variables of Open MPI that they do not state themselves.
//!
//! Its monitoring component declares messages and bytes for each peer as sizes of a communicator. They only ever grow,
//! and the library gives them for MPI_COMM_WORLD alone, with the messages on all communicators in them, by world rank
//! (ompi/mca/common/monitoring/common_monitoring.c, `mca_common_monitoring_get_messages_count`: any other communicator
//! is an error). Its software performance counters are sizes too in most versions (ompi/runtime/ompi_spc.c,
//! `mpi_t_init`), though only the lengths of queues are any.
//!
//! Version 4 loads all its components to list their variables. Those of its matching transports (MTL) then have
//! nothing behind them but in the one that is in use: making a handle of `mtl_psm2_tx_num` is a segmentation fault in
//! libpsm2, as seen in version 4.1.4.

use crate::base::symbol;

/// A variable that is declared as a size only ever grows, and so is a counter.
pub fn only_grows(name: &str) -> bool {
    let counts_events = name.starts_with("runtime_spc_OMPI_SPC_") && !name.ends_with("_IN_QUEUE");
    let of_peers = ["pml_monitoring_messages_", "coll_monitoring_messages_", "osc_monitoring_messages_"];
    counts_events || of_peers.iter().any(|start| name.starts_with(start))
}

/// A variable of this name may be touched.
pub fn is_in_use(name: &str) -> bool {
    match name.strip_prefix("mtl_") {
        Some(rest) => selected().is_some_and(|component| is_of(rest, &component)),
        None => true,
    }
}

/// The rest of a name behind `mtl_` begins with this component.
fn is_of(rest: &str, component: &str) -> bool {
    rest.strip_prefix(component).is_some_and(|rest| rest.starts_with('_'))
}

/// The component of the matching transport that is in use: Open MPI's `ompi_mtl` points to its module, `ompi_mtl_psm2`
/// for one.
fn selected() -> Option<String> {
    let (name, _) = symbol::starting_at(symbol::pointer_in(c"ompi_mtl")?)?;
    name.to_str().ok()?.strip_prefix("ompi_mtl_").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_bytes_for_each_peer_are_counters() {
        for name in
            ["coll_monitoring_messages_count", "pml_monitoring_messages_size", "osc_monitoring_messages_sent_count"]
        {
            assert!(only_grows(name), "{name}");
        }
        for name in ["coll_monitoring_a2a_count", "pml_monitoring_flush", "pml_ob1_posted_recvq_length"] {
            assert!(!only_grows(name), "{name}");
        }
    }

    #[test]
    fn software_performance_counters_are_counters_but_for_the_lengths_of_queues() {
        assert!(only_grows("runtime_spc_OMPI_SPC_ALLREDUCE"));
        assert!(!only_grows("runtime_spc_OMPI_SPC_MAX_UNEXPECTED_IN_QUEUE"));
    }

    #[test]
    fn only_what_is_in_use_is_touched() {
        assert!(is_of("psm2_tx_num", "psm2") && !is_of("psm2_tx_num", "psm") && !is_of("psm2_tx_num", "ofi"));
        // There is no MPI library in this process.
        assert!(is_in_use("pml_ob1_posted_recvq_length") && !is_in_use("mtl_psm2_tx_num"));
    }
}
