//! How things are shown: words and numbers as people read them, tables, pictures, progress, and the files that they go
//! to. What comes in are numbers, names and the marks of a plot; of traces it knows nothing. What goes out are lines on
//! standard output and on standard error, JSON, and files that are never half there.

pub mod alike;
mod cell;
pub mod date;
pub mod destination;
pub mod draw;
mod joined;
pub mod openmetrics;
pub mod output;
pub mod progress;
pub mod shell;
pub mod table;
pub mod text;
