//! The aims of the statistics, their results and their cost:
//! `cargo bench --bench statistics -- [coverage|modes|comparison|speed [RUN TIMES]] [--tuning] [--draws N]
//! [--family TEXT]`.
//!
//! Without a name all of them; of `coverage` the families whose name has the text. Every series comes from a seed; beside each figure is what is wanted.

mod comparison;
mod coverage;
mod families;
mod modes;
mod speed;
#[path = "../truth/mod.rs"]
mod truth;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let parts = ["coverage", "modes", "comparison", "speed"];
    let wanted = |name: &str| has(name) || !parts.iter().any(|part| has(part));
    let draws: Option<usize> =
        arguments.iter().position(|one| one == "--draws").and_then(|at| arguments.get(at + 1)?.parse().ok());
    let tuning = has("--tuning");
    if wanted("coverage") {
        let families = if tuning { families::TUNING } else { families::REPORTED };
        let family = arguments.iter().position(|one| one == "--family").and_then(|at| arguments.get(at + 1));
        let is_asked_for = |of: &&families::Family| family.is_none_or(|text| of.name.contains(text.as_str()));
        let families: Vec<families::Family> = families.iter().filter(is_asked_for).copied().collect();
        coverage::print(&families, &[50, 200, 1000, 5000], draws.unwrap_or(400));
    }
    if wanted("modes") {
        modes::print_modes(tuning, draws.unwrap_or(60) as u64);
        modes::print_dependence(draws.unwrap_or(400) as u64);
        modes::print_ticks(draws.unwrap_or(40) as u64);
    }
    if wanted("comparison") {
        comparison::print(draws.unwrap_or(400) as u64);
    }
    if wanted("speed") {
        let count = arguments.iter().skip(1).find_map(|argument| argument.parse().ok());
        speed::print(count.filter(|_| draws.is_none()).unwrap_or(10_000_000));
    }
}
