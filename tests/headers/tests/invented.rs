//! A line that is added to the table is on the page, with what it says.

use libtest_mimic::Failed;
use mpitrace_headers::{lines, page, parse};
use mpitrace_testing::invented;

/// The line, as the table has the others.
const INVENTED_TABLE: &str = include_str!("../../table/invented.table");

pub fn is_on_the_page() -> Result<(), Failed> {
    mpitrace_functions::add(invented::FUNCTIONS);
    let page = page(lines().into_iter().chain(parse(INVENTED_TABLE)).collect());
    let expected = ["23 in 135 functions", "| Inform | one-to-all | `root` | `op` |"];
    match expected.into_iter().find(|expected| !page.contains(expected)) {
        None => Ok(()),
        Some(missing) => Err(format!("not on the page: {missing}").into()),
    }
}
