//! What is wanted of the statistics, and what they reach.

#[path = "../truth/mod.rs"]
mod truth;
mod coverage;

fn main() {
    let families = if std::env::args().any(|argument| argument == "--tuning") { truth::TUNING } else { truth::REPORTED };
    coverage::print(families, &[50, 200, 1000, 5000], 400);
}
