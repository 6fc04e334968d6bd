//! Single facts and how they are written: names and settings, sums of amounts, totals of counters, texts.

pub mod algorithms;
pub mod amounts;
pub mod decimal;
pub mod metadata;
pub mod polls;
pub mod running_totals;
pub mod settings;
pub mod strings;
pub mod token;
