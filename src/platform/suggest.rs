//! The name that was likely meant, where there is none of what was written.

/// How far a name is from what was written: 1 for each letter that was left out (a name cut short is the likeliest
/// slip), 2 for each one too many or wrong.
pub fn distance(written: &str, name: &str) -> usize {
    const LEFT_OUT: usize = 1;
    const WRONG: usize = 2;
    let mut row: Vec<usize> = (0..=name.len()).map(|letters| letters * LEFT_OUT).collect();
    for (i, a) in written.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = (i + 1) * WRONG;
        for (j, b) in name.bytes().enumerate() {
            let same_or_wrong = diagonal + if a == b { 0 } else { WRONG };
            diagonal = row[j + 1];
            row[j + 1] = same_or_wrong.min(row[j] + LEFT_OUT).min(diagonal + WRONG);
        }
    }
    row[name.len()]
}
