//! Variables that may not be touched while their transport is not in use.
//!
//! Open MPI 4 loads all its components to list their variables. Those of its matching transports (MTL) then have
//! nothing behind them but in the one that is in use: making a handle of `mtl_psm2_tx_num` is a segmentation fault in
//! libpsm2, as seen in version 4.1.4.

use crate::base::symbol;

/// Whether a variable of this name may be touched.
pub fn is_in_use(name: &str) -> bool {
    match name.strip_prefix("mtl_") {
        Some(rest) => selected().is_some_and(|component| is_of(rest, &component)),
        None => true,
    }
}

/// Whether what follows `mtl_` in a name begins with this component.
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
    fn only_what_is_in_use_is_touched() {
        assert!(is_of("psm2_tx_num", "psm2") && !is_of("psm2_tx_num", "psm") && !is_of("psm2_tx_num", "ofi"));
        // There is no MPI library in this process.
        assert!(is_in_use("pml_ob1_posted_recvq_length") && !is_in_use("mtl_psm2_tx_num"));
    }
}
