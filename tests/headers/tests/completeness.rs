//! Every function of every header is in the table, or has its reason in `not-wrapped.txt`.

use std::collections::BTreeSet;

use crate::header::Header;
use crate::pattern;

const LIST: &str = include_str!("../not-wrapped.txt");

/// The names and patterns that need no wrapper.
pub fn not_wrapped() -> Vec<&'static str> {
    LIST.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace).collect()
}

/// Functions of this header that are neither in the table nor in the list.
pub fn forgotten(header: &Header, wrapped: &BTreeSet<String>) -> Vec<String> {
    let not_wrapped = not_wrapped();
    let is_listed = |name: &str| not_wrapped.iter().any(|entry| pattern::matches(entry, name));
    let is_known = |name: &str| wrapped.contains(name) || is_listed(name);
    header
        .functions
        .iter()
        .filter(|(name, _)| !is_known(name))
        .map(|(_, declaration)| declaration.to_string())
        .collect()
}

/// Functions of the table that no MPI library has.
pub fn unknown(headers: &[&Header], wrapped: &BTreeSet<String>) -> Vec<String> {
    let is_declared = |name: &str| headers.iter().any(|header| header.functions.contains_key(name));
    wrapped.iter().filter(|name| !is_declared(name)).cloned().collect()
}

/// Entries of the list that stand for no function, or for one that is wrapped.
pub fn stale(headers: &[&Header], wrapped: &BTreeSet<String>) -> Vec<String> {
    let mut stale = Vec::new();
    for entry in not_wrapped() {
        if let Some(name) = wrapped.iter().find(|name| pattern::matches(entry, name)) {
            stale.push(format!("{entry}: {name} is in the table"));
        } else if !headers.iter().flat_map(|header| header.functions.keys()).any(|name| pattern::matches(entry, name)) {
            stale.push(format!("{entry}: no header declares it"));
        }
    }
    stale
}
