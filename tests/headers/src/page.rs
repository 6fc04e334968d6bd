//! `docs/developers/functions.md`, made of the table.

use mpitrace_functions::{Form, Function, Pattern, Size};

use crate::declared::Line;

/// The command that writes the page anew.
pub const COMMAND: &str = "cargo run -q -p mpitrace-headers --example functions > docs/developers/functions.md";

/// The page of these lines.
#[must_use]
pub fn page(lines: Vec<Line>) -> String {
    let (collectives, others): (Vec<Line>, Vec<Line>) = lines.into_iter().partition(Line::is_collective);
    let singles: Vec<Line> = others.into_iter().filter(Line::is_single).collect();
    format!(
        "{}{}{ABOVE_SINGLES}{}{NOT_RECORDED}",
        above_collectives(&collectives),
        table_of_collectives(collectives),
        table_of_singles(&singles)
    )
}

fn above_collectives(collectives: &[Line]) -> String {
    let functions: usize = collectives.iter().map(|line| line.functions().len()).sum();
    let forms = [Form::Blocking, Form::NonBlocking, Form::Persistent];
    for line in collectives {
        let functions = line.functions();
        let missing = forms.iter().find(|form| functions.iter().all(|function| function.form != **form));
        assert!(missing.is_none(), "{}: the page says that every collective has three forms", line.name);
    }
    let small: Vec<String> =
        collectives.iter().filter(|line| !line.large).map(|line| format!("`MPI_{}`", line.name)).collect();
    format!(
        "# The functions

Made of `src/functions/functions.table` by this command. A test fails while the two differ.

```
{COMMAND}
```

## Collectives

Every collective operation of MPI-5.0: {} in {functions} functions. Each has a blocking form (`MPI_Bcast`), a non-blocking
one (`MPI_Ibcast`) and a persistent one (`MPI_Bcast_init`). Each of these has a variant with large counts
(`MPI_Bcast_c`), except {}. A call is recorded once, whether it is made as `MPI_X` or as `PMPI_X`, from
C, C++, Fortran (`mpif.h`, `use mpi`, `use mpi_f08`) or mpi4py. Large counts exist in C and in `mpi_f08` only.

The pattern is which ranks wait for which, whatever the algorithm: `mpitrace clock` checks global times against it.

| collectives | pattern | root | reduction |
|---|---|---|---|
",
        collectives.len(),
        small.join(", ")
    )
}

fn table_of_collectives(mut collectives: Vec<Line>) -> String {
    collectives.sort_by(|one, other| one.name.cmp(&other.name));
    rows(collectives.iter().map(|line| (facts_of_collective(line), line.name.clone())))
}

fn facts_of_collective(line: &Line) -> String {
    let blocking = line.functions().swap_remove(0).name;
    let Some(function) = Function::named(&blocking) else { panic!("{blocking}: a collective that is not recorded") };
    let name = |name: Option<&str>| name.map_or("-".to_owned(), |name| format!("`{name}`"));
    format!("{} | {} | {}", pattern_name(function.pattern), name(function.root), name(function.reduction))
}

/// Functions with the same facts are one row, in the order of the first ones.
fn rows(lines: impl Iterator<Item = (String, String)>) -> String {
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for (facts, name) in lines {
        match rows.iter_mut().find(|(other, _)| *other == facts) {
            Some((_, names)) => names.push(name),
            None => rows.push((facts, vec![name])),
        }
    }
    rows.iter().map(|(facts, names)| format!("| {} | {facts} |\n", names.join(", "))).collect()
}

const ABOVE_SINGLES: &str = "
## Communicators, windows and files

The other collective calls of MPI-5.0; `[_c]`: also with large counts. Each window and each open file has sequence numbers
of its own. Outputs name it in the column of communicators: a window as `window of X` (the communicator that it was made
of) or by its name, a file by the name with which it was opened. Most libraries make the ranks wait for each other in these
calls, and none has to: `usually all-to-all` is used to find waiting, never to check clocks. A call on `newcomm` is one of
the ranks of the new communicator only, and the first one on it.

| functions | on | pattern | root | message size |
|---|---|---|---|---|
";

fn pattern_name(pattern: Pattern) -> &'static str {
    match pattern {
        Pattern::AllToAll => "all-to-all",
        Pattern::OneToAll => "one-to-all",
        Pattern::AllToOne => "all-to-one",
        Pattern::Prefix => "prefix",
        Pattern::ExclusivePrefix => "exclusive prefix",
        Pattern::Neighbourhood => "neighbourhood",
        Pattern::UsuallyAllToAll => "usually all-to-all",
        Pattern::None => "none",
    }
}

fn table_of_singles(lines: &[Line]) -> String {
    rows(lines.iter().map(|line| (facts_of_single(line), shown(line))))
}

fn facts_of_single(line: &Line) -> String {
    let name = format!("MPI_{}", line.name);
    let Some(function) = Function::named(&name) else { panic!("{name}: a function that is not recorded") };
    let root = function.root.map_or("-".to_owned(), |root| format!("`{root}`"));
    let size = match function.size {
        Size::Nothing => "0",
        Size::Block => "the same on all ranks",
        _ => "each rank's own; the largest is the operation's",
    };
    format!("`{}` | {} | {root} | {size}", function.communicator, pattern_name(function.pattern))
}

/// The name of a function, with a sign that there is a variant with large counts.
fn shown(line: &Line) -> String {
    format!("`MPI_{}{}`", line.name, if line.large { "[_c]" } else { "" })
}

const NOT_RECORDED: &str = "
Not recorded: functions that begin and end the recording; `MPI_Comm_join`; input, output and synchronisation of windows in
which not all ranks take part; extensions of one library (`MPIX_`); calls inside a recorded call.
`src/functions/functions.table` has the functions that are followed for other reasons: to count messages, find requests
complete, or see where a thread is.
";
