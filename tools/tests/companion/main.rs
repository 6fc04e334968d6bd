//! The companion run over small traces of programs that never ran.

mod commands;
mod damage;
mod support;
