//! Writes `docs/developers/functions.md` to the standard output: a test holds that page against the table.

fn main() {
    print!("{}", mpitrace_headers::page(mpitrace_headers::lines()));
}
