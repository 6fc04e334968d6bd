//! Measurements of mpitrace, each a program of its own: `cargo bench --bench NAME`. What comes in are programs, traces
//! and random numbers that the measurement makes. What goes out is a table, which `tests/measure.sh` puts into
//! docs/developers/measurements/.
