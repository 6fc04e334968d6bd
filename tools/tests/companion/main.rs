//! The companion run over small traces of programs that never ran.

mod clock;
mod commands;
mod compare;
mod damage;
mod support;
