//! The companion run over small traces of programs that never ran.

mod categorize;
mod clock;
mod commands;
mod compare;
mod damage;
mod diagnose;
mod ended;
mod export;
mod figures;
mod files;
mod findings;
mod hostile;
mod hung;
mod jobs;
mod largest;
mod report;
mod rows;
mod scale;
mod stats;
mod summary;
mod support;
mod untraced;
mod why;
mod width;
