//! Names in JSON.

use mpitrace::categories::Category;
use mpitrace::run_time::RunTime;
use serde::Serializer;

pub fn time_name<S: Serializer>(time: &RunTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(time.name())
}

/// A letter for each repetition, the first of the category's name: `f`, `w`, `o`, `g`.
pub fn letters_each<S: Serializer>(lists: &[Vec<Category>], serializer: S) -> Result<S::Ok, S::Error> {
    let letters = |list: &Vec<Category>| list.iter().map(|category| &category.name()[..1]).collect::<String>();
    serializer.collect_seq(lists.iter().map(letters))
}
