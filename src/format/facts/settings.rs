//! Settings that the traced program's environment can have no more, for the preloaded library and for `mpitrace run`.

/// The settings that were removed: name, the value that still means what happens anyway, and the way out.
const REMOVED: [(&str, &str, &str); 2] = [
    (
        "MPITRACE_FULL",
        "spill",
        "was removed: all calls of a run of any length are kept; MPITRACE_OUTPUT_MAX=BYTES bounds the trace",
    ),
    (
        "MPITRACE_STUCK",
        "0",
        "was removed: `mpitrace run --stuck S` prints the stacks of ranks that have not moved for S seconds, and \
         `mpitrace watch` shows them at any time",
    ),
];

/// Why a setting has no effect, as the second half of a sentence that begins with its name. `None`: the name is not
/// that of a removed setting, or its value asks for what happens anyway.
///
/// ```
/// use mpitrace_format::settings::removed;
///
/// assert!(removed("MPITRACE_FULL", "ring").is_some_and(|why| why.contains("MPITRACE_OUTPUT_MAX")));
/// assert_eq!(removed("MPITRACE_STUCK", "0"), None);
/// ```
pub fn removed(name: &str, value: &str) -> Option<&'static str> {
    let found = REMOVED.into_iter().find(|(removed, ..)| *removed == name);
    found.filter(|(_, harmless, _)| *harmless != value.trim()).map(|(_, _, why)| why)
}

/// True for the name of a setting that was removed, whatever its value.
///
/// ```
/// use mpitrace_format::settings::is_removed;
///
/// assert!(is_removed("MPITRACE_STUCK") && !is_removed("MPITRACE_OUTPUT"));
/// ```
pub fn is_removed(name: &str) -> bool {
    REMOVED.iter().any(|(removed, ..)| *removed == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_setting_names_the_way_out_unless_its_value_changes_nothing() {
        assert!(removed("MPITRACE_FULL", "ring").unwrap().contains("MPITRACE_OUTPUT_MAX"));
        assert!(removed("MPITRACE_STUCK", "60").unwrap().contains("run --stuck"));
        assert_eq!([removed("MPITRACE_FULL", " spill"), removed("MPITRACE_STUCK", "0")], [None, None]);
        assert_eq!(removed("MPITRACE_OUTPUT", "a"), None);
        assert!(is_removed("MPITRACE_FULL") && !is_removed("MPITRACE_OUTPUT"));
    }
}
