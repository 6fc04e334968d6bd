//! Measurements of mpitrace. Each is a program of its own: `cargo bench --bench NAME`. What it prints goes into
//! docs/developers/measurements/ by `tests/measure.sh`.
