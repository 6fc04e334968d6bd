//! `mpitrace benchmark` run over small traces of programs that never ran: of the second tier.

mod enough;
mod guidelines;
mod means;
mod metrics;
mod models;
mod schemes;
#[path = "../companion/support.rs"]
mod support;
mod synchronisation_check;
mod traces;
mod work;
