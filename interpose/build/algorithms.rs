//! The functions that are algorithms of collectives (`src/format/algorithms.txt`), for which there is a stub each.

/// The list as a macro takes it: `stubs! { 0 first, 1 second, }`.
pub fn code(list: &str) -> String {
    let symbols = list.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split(' ').next());
    let stubs: String = symbols.enumerate().map(|(index, symbol)| format!("{index} {symbol},\n")).collect();
    format!("stubs! {{\n{stubs}}}\n")
}
