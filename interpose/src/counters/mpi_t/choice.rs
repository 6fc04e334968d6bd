//! From the names and patterns of `MPITRACE_PVARS` to variables of the library.

use crate::counters::mpi_t::interface::Performance;
use mpitrace_platform::suggest::distance;

/// The name of each variable: the library's, and behind it the class where two classes share it (a name is unique in
/// its class only; Intel MPI has both a timer and a counter called `idle`).
pub fn names(offered: &[Performance]) -> Vec<String> {
    let name = |variable: &Performance| {
        let shared = offered.iter().filter(|other| other.name == variable.name).count() > 1;
        match variable.class.filter(|_| shared) {
            Some(class) => format!("{} ({})", variable.name, class.name),
            None => variable.name.clone(),
        }
    };
    offered.iter().map(name).collect()
}

/// The places of the variables that are meant, each once, in the order of the patterns; and for each pattern that means
/// none what follows it in the sentence that says so.
pub fn choose(patterns: &[String], offered: &[Performance], names: &[String]) -> (Vec<usize>, Vec<(String, String)>) {
    let (mut chosen, mut unknown) = (Vec::new(), Vec::new());
    for pattern in patterns {
        let meant = |place: &usize| matches(pattern, &names[*place]) || matches(pattern, &offered[*place].name);
        let before = chosen.len();
        let mut any = false;
        for place in (0..offered.len()).filter(meant) {
            any = true;
            if !chosen.contains(&place) {
                chosen.push(place);
            }
        }
        // The same pattern may come twice.
        if !any && chosen.len() == before {
            unknown.push((pattern.clone(), nearest(pattern, names)));
        }
    }
    (chosen, unknown)
}

fn nearest(pattern: &str, names: &[String]) -> String {
    let (lower, count) = (pattern.to_ascii_lowercase(), names.len());
    match names.iter().min_by_key(|name| distance(&lower, &name.to_ascii_lowercase())) {
        None => " is not available: this MPI library has no MPI_T pvars".to_owned(),
        Some(_) if pattern.contains('*') => format!(" matches none of the {count} MPI_T pvars of this MPI library"),
        Some(name) => format!(" is not an MPI_T pvar of this MPI library; the nearest of {count} is {name}"),
    }
}

/// A name is what a pattern says, in which each `*` stands for any text.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(start) else { return false };
    let (between, end) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in between.split('*') {
        match left.find(part) {
            Some(at) => left = &left[at + part.len()..],
            None => return false,
        }
    }
    left.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_platform::mpi_t::Value;

    use crate::counters::mpi_t::interface::Object;
    use crate::counters::mpi_t::kinds::{CLASSES, COUNTER, Class};

    fn offered(names: &[(&str, &'static Class)]) -> Vec<Performance> {
        let variable = |(index, (name, class)): (usize, &(&str, &'static Class))| Performance {
            index,
            name: (*name).to_owned(),
            class: Some(class),
            value: Value::Double,
            object: Object::Process,
            continuous: true,
        };
        names.iter().enumerate().map(variable).collect()
    }

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("pml_*", "pml_ob1", true),
            ("*_count", "a_count", true),
            ("*_count", "a_counts", false),
            ("coll_*_a2a_*", "coll_monitoring_a2a_size", true),
            ("coll_*_a2a_*", "coll_monitoring_o2a_size", false),
            ("a*a", "a", false),
            ("a*b*c", "abc", true),
            ("a*b*c", "acb", false),
            ("exact", "exactly", false),
            ("**", "x", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_name_of_two_classes_is_two_variables_with_names_of_their_own() {
        let offered = offered(&[("idle", &CLASSES[8]), ("idle", COUNTER), ("sent", COUNTER)]);
        let names = names(&offered);
        assert_eq!(names, ["idle (timer)", "idle (counter)", "sent"]);
        let choose = |patterns: &[&str]| {
            let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
            super::choose(&patterns, &offered, &names)
        };
        assert_eq!(choose(&["idle"]).0, [0, 1]);
        assert_eq!(choose(&["sent", "idle (counter)", "*"]).0, [2, 1, 0]);
        let (chosen, unknown) = choose(&["sents", "x*", "sent", "sent"]);
        assert_eq!(chosen, [2]);
        let texts: Vec<String> = unknown.iter().map(|(name, why)| format!("{name}{why}")).collect();
        assert!(
            matches!(&texts[..], [a, b] if a.contains("nearest of 3 is sent") && b.contains("x* matches none")),
            "{texts:?}"
        );
    }

    #[test]
    fn a_library_without_variables_is_said_to_have_none() {
        let (_, unknown) = choose(&["idle".to_owned()], &[], &[]);
        assert!(unknown[0].1.contains("has no MPI_T pvars"));
    }
}
