//! Names with a `*` for any part.

/// True if a name is of this form.
pub fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => name.strip_prefix(before).is_some_and(|rest| {
            (0..=rest.len()).any(|skipped| rest.get(skipped..).is_some_and(|rest| matches(after, rest)))
        }),
    }
}
