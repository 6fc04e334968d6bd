//! Texts that differ by numbers alone, as the names of a file for each step do.

use std::collections::HashMap;

/// The text with `*` in place of each number.
pub fn without_numbers(text: &str) -> String {
    parts(text).map(|part| if is_number(part) { "*" } else { part }).collect()
}

/// The text that all have, with `*` in place of the numbers that differ. `None`: they differ by more.
///
/// ```
/// # use mpitrace_show::alike::common;
/// assert_eq!(common(&["out.01.h5", "out.02.h5"]).as_deref(), Some("out.*.h5"));
/// assert_eq!(common(&["a7.1", "a7.13"]).as_deref(), Some("a7.*"));
/// assert_eq!(common(&["a", "b"]), None);
/// ```
pub fn common(texts: &[&str]) -> Option<String> {
    let (first, others) = texts.split_first()?;
    let mut common: Vec<(&str, bool)> = parts(first).map(|part| (part, false)).collect();
    for other in others {
        let parts: Vec<&str> = parts(other).collect();
        if parts.len() != common.len() {
            return None;
        }
        for ((first, differs), part) in common.iter_mut().zip(parts) {
            if *first != part {
                if !is_number(first) || !is_number(part) {
                    return None;
                }
                *differs = true;
            }
        }
    }
    Some(common.into_iter().map(|(part, differs)| if differs { "*" } else { part }).collect())
}

/// Groups of one key, each at the place of its first; one without a key is a group by itself.
pub fn grouped<'a, T>(all: &'a [T], key: impl Fn(&'a T) -> Option<&'a str>) -> Vec<Vec<&'a T>> {
    let mut groups: Vec<Vec<&T>> = Vec::new();
    let mut by_key: HashMap<&str, usize> = HashMap::new();
    for one in all {
        let next = groups.len();
        match key(one).map_or(next, |key| *by_key.entry(key).or_insert(next)) {
            group if group == next => groups.push(vec![one]),
            group => groups[group].push(one),
        }
    }
    groups
}

fn is_number(part: &str) -> bool {
    part.starts_with(|character: char| character.is_ascii_digit())
}

/// Numbers, and what lies between them.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let is_number = is_number(rest);
        let end = rest.find(|character: char| character.is_ascii_digit() != is_number).unwrap_or(rest.len());
        let (part, behind) = rest.split_at(end);
        rest = behind;
        Some(part).filter(|part| !part.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_equal_in_all_stay() {
        let common = |texts: &[&str]| common(texts);
        assert_eq!(common(&["2024/out.0001", "2024/out.0010", "2024/out.0100"]).as_deref(), Some("2024/out.*"));
        assert_eq!(common(&["out", "out"]).as_deref(), Some("out"));
        assert_eq!(common(&["out.1", "out."]), None, "a number on one side only");
        assert_eq!(common(&["1a", "a1"]), None);
        assert_eq!(common(&["*", "1"]), None, "a star of the name is no number");
        assert_eq!(common(&["größe 1", "größe 2"]).as_deref(), Some("größe *"));
        assert_eq!(common(&[]), None);
        assert_eq!(without_numbers("2024/out.0001"), "*/out.*");
        assert_eq!(without_numbers(""), "");
    }
}
