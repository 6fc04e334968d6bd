//! The nodes of a job from which nothing is in a trace.

use std::collections::BTreeSet;

use mpitrace_format::metadata;
use mpitrace_trace::reader::Trace;

const NODES: &str = "job_nodes";
/// No cluster has more nodes; a list that names more is none.
const MOST: usize = 1 << 17;

/// The nodes that the batch system gave to the job and that no rank of the trace ran on. Empty where no rank is missing
/// or the nodes are not known.
pub fn missing(trace: &Trace, factors: &[(String, String)]) -> Vec<String> {
    if trace.missing.is_empty() {
        return Vec::new();
    }
    let hosts: BTreeSet<String> = trace
        .parts
        .iter()
        .filter_map(|part| metadata::get(&part.metadata(), "host").map(|host| short(host).to_owned()))
        .collect();
    let known = metadata::get(factors, NODES).and_then(expand).unwrap_or_default();
    // Names that do not appear anywhere are of another kind than the hosts' own.
    if !known.iter().any(|node| hosts.contains(short(node))) {
        return Vec::new();
    }
    known.into_iter().filter(|node| !hosts.contains(short(node))).collect()
}

/// The name of a host without its domain.
pub fn short(host: &str) -> &str {
    host.split('.').next().unwrap_or(host)
}

/// The names in a list such as `n[01-03,7],login`: the form of Slurm and Flux; PBS' and LSF's lists are names with
/// commas. `None`: it is not such a list.
pub fn expand(list: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = list.trim();
    while !rest.is_empty() {
        // A comma within brackets does not end the word.
        let mut depth = 0;
        let end = rest.find(|character| {
            match character {
                '[' => depth += 1,
                ']' => depth -= 1,
                _ => {}
            }
            character == ',' && depth == 0
        });
        let (word, behind) = rest.split_at(end.unwrap_or(rest.len()));
        expand_word(word, &mut names)?;
        rest = behind.strip_prefix(',').unwrap_or(behind);
    }
    Some(names)
}

/// `a[1-2]b[3,5]` makes `a1b3`, `a1b5`, `a2b3` and `a2b5`.
fn expand_word(word: &str, names: &mut Vec<String>) -> Option<()> {
    let Some((before, rest)) = word.split_once('[') else {
        names.push(word.to_owned());
        return (names.len() <= MOST).then_some(());
    };
    let (ranges, behind) = rest.split_once(']')?;
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let width = first.len();
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        if last.checked_sub(first)? > MOST as u64 {
            return None;
        }
        for number in first..=last {
            expand_word(&format!("{before}{number:0width$}{behind}"), names)?;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_nodes_are_expanded() {
        let cases = [
            ("n1", "n1"),
            ("n[1-3]", "n1 n2 n3"),
            ("n[08-10,12],login", "n08 n09 n10 n12 login"),
            ("r[1-2]n[3,5]", "r1n3 r1n5 r2n3 r2n5"),
            ("a.site,b.site", "a.site b.site"),
            ("", ""),
        ];
        for (list, expected) in cases {
            let expected: Vec<&str> = expected.split_whitespace().collect();
            assert_eq!(expand(list).unwrap(), expected, "{list}");
        }
        for wrong in ["n[1-", "n[3-1]", "n[a-b]", "n[0-99999999999]"] {
            assert_eq!(expand(wrong), None, "{wrong}");
        }
    }
}
