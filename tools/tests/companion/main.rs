//! The companion run over small traces of programs that never ran.

mod categorize;
mod clock;
mod commands;
mod damage;
mod stats;
mod support;
