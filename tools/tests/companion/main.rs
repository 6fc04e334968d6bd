//! The companion run over small traces of programs that never ran.

mod categorize;
mod clock;
mod commands;
mod compare;
mod damage;
mod export;
mod stats;
mod support;
