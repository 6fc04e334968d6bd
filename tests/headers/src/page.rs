//! `docs/functions.md`, made of the table.

use mpitrace_functions::{Form, Function, Size};

use crate::declared::Line;

/// The command that writes the page anew.
pub const COMMAND: &str = "cargo run -q -p mpitrace-headers --example functions > docs/functions.md";

/// The page of these lines.
#[must_use]
pub fn page(lines: Vec<Line>) -> String {
    let (collectives, others): (Vec<Line>, Vec<Line>) = lines.into_iter().partition(Line::is_collective);
    let (singles, others): (Vec<Line>, Vec<Line>) = others.into_iter().partition(Line::is_single);
    format!(
        "{}{}\n{}{}{}\n{}{}",
        above_collectives(&collectives),
        of_collectives(collectives),
        ABOVE_SINGLES,
        singles.iter().map(of_single).collect::<String>(),
        NOT_RECORDED,
        ABOVE_OTHERS,
        of_others(&others)
    )
}

fn above_collectives(collectives: &[Line]) -> String {
    let functions: usize = collectives.iter().map(|line| line.functions().len()).sum();
    format!(
        "# The functions

Made of `src/functions/lib.rs`, not written by hand. A test fails while the two differ; this makes them the same:

```
{COMMAND}
```

## Collectives

Every collective operation of MPI-5.0: {} in {functions} functions. `_c` stands for the variant with large counts beside the plain
one. Each function is exported as `MPI_X` and as `PMPI_X`, and a call is recorded once, whichever of the two it came by.

No language needs wrappers of its own. The Fortran bindings of Open MPI call `PMPI_X` for each of their procedures, those
of MPICH and Intel MPI `MPI_X` or `PMPI_X`, and both of them lead here; the same goes for C++ and mpi4py, which are C
programs in this respect. Large counts exist in C and in `mpi_f08` only, where the same name takes them.

",
        collectives.len()
    )
}

fn of_collectives(mut collectives: Vec<Line>) -> String {
    collectives.sort_by(|one, other| one.name.cmp(&other.name));
    let mut table = String::from(
        "| collective | blocking | non-blocking | persistent | C | `mpif.h` | `use mpi` | `use mpi_f08` |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for line in &collectives {
        let form = |form| of_form(line, form);
        let (plain, both) = if line.large { ("int counts", "int and large counts") } else { ("yes", "yes") };
        table += &format!(
            "| {} | {} | {} | {} | {both} | {plain} | {plain} | {both} |\n",
            line.name,
            form(Form::Blocking),
            form(Form::NonBlocking),
            form(Form::Persistent)
        );
    }
    table + ABOVE_MEANING + &collectives.iter().map(of_meaning).collect::<String>()
}

const ABOVE_MEANING: &str = "
What the table says of their meaning. It holds for all forms of a collective. The pattern is which ranks wait for which,
whatever the algorithm: `mpitrace clock` checks global times against it. OTF2 is the kind in an exported archive
(`OTF2_COLLECTIVE_OP_`), ReproMPI the name in its files. Of a function that is not here, nothing is claimed but its form,
which follows from its name.

| collective | pattern | root | reduction | OTF2 | ReproMPI |
|---|---|---|---|---|---|
";

fn of_meaning(line: &Line) -> String {
    let blocking = line.functions().swap_remove(0).name;
    let Some(function) = Function::named(&blocking) else { panic!("{blocking}: a collective that is not recorded") };
    let name = |name: Option<&str>| name.map_or("-".to_owned(), |name| format!("`{name}`"));
    let (root, reduction) = (name(function.root), name(function.reduction));
    let (otf2, reprompi) = (name(function.otf2), name(function.reprompi));
    format!("| {} | {} | {root} | {reduction} | {otf2} | {reprompi} |\n", line.name, function.pattern.name())
}

const ABOVE_SINGLES: &str = "## Communicators, windows and files

The other collective calls of MPI-5.0. They have one form each. Each window and each open file has sequence numbers of
its own for the calls on it, as a communicator has; in outputs it stands in the column of communicators, a window as
`window of X`, where X is the communicator that it was made of, or under its own name (`MPI_Win_set_name`), a file under
the name with which it was opened. Most libraries make the ranks wait for each other in these calls, and none has to:
`usually all-to-all` is used to find waiting, and never to check clocks. A call `on newcomm` is one of the ranks of the
new communicator only, and the first one on it.

| function | large counts | on | pattern | root | message size |
|---|---|---|---|---|---|
";

fn of_single(line: &Line) -> String {
    let name = format!("MPI_{}", line.name);
    let Some(function) = Function::named(&name) else { panic!("{name}: a function that is not recorded") };
    let large = if line.large { "`_c`" } else { "" };
    let root = function.root.map_or("-".to_owned(), |root| format!("`{root}`"));
    let size = match function.size {
        Size::Nothing => "0",
        Size::Block => "the same on all ranks",
        _ => "each rank's own; the largest is the operation's",
    };
    format!("| `{name}` | {large} | `{}` | {} | {root} | {size} |\n", function.communicator, function.pattern.name())
}

const NOT_RECORDED: &str = "
Not recorded: `MPI_Init`, `MPI_Init_thread`, `MPI_Finalize` and the functions that begin and end a session, since they
begin and end the recording; `MPI_Comm_join`, which two processes call that have a socket and no communicator;
input and output of one rank (`MPI_File_read_at`, `MPI_File_write_shared` and the like) and synchronisation of windows in
which not all ranks take part (`MPI_Win_lock_all`, `MPI_Win_post` and the like), which are no collective calls; extensions
of one library (`MPIX_`); and all that a library or a callback calls inside a recorded call.
";

/// The functions of one form, `MPI_Ibcast` and its variant.
fn of_form(line: &Line, form: Form) -> String {
    let functions = line.functions();
    let mut names = functions.iter().filter(|function| function.form == form);
    match (names.next(), names.next()) {
        (None, _) => "-".to_owned(),
        (Some(plain), None) => format!("`{}`", plain.name),
        (Some(plain), Some(_)) => format!("`{}`, `_c`", plain.name),
    }
}

const ABOVE_OTHERS: &str = "## The rest

Followed for other reasons than to be recorded, in all languages as well. `_c` is said where there is the variant too.
";

fn of_others(others: &[Line]) -> String {
    if let Some(line) = others.iter().find(|line| REASONS.iter().all(|(kind, _)| *kind != line.kind)) {
        panic!("MPI_{}: tests/headers/src/page.rs has no reason for a line of the kind `{}`", line.name, line.kind);
    }
    let mut page = String::new();
    for (kind, reason) in REASONS {
        let lines: Vec<&Line> = others.iter().filter(|line| line.kind == kind).collect();
        if lines.is_empty() {
            continue;
        }
        page += &format!("\n### {reason}\n\n| function | large counts |\n|---|---|\n");
        for line in lines {
            page += &format!("| `MPI_{}` | {} |\n", line.name, if line.large { "`_c`" } else { "" });
        }
    }
    page
}

/// What a function of each kind is followed for, in the order of the page.
const REASONS: [(&str, &str); 9] = [
    ("lifecycle", "Begins, ends or marks what is recorded"),
    ("completing", "Finds requests complete"),
    ("starting", "Starts persistent requests"),
    ("freeing", "Frees requests"),
    ("observed", "Names a communicator or a window, finds one, makes or frees a data type"),
    ("counted", "Counted, not recorded"),
    ("forwarded", "Only seen: a thread is in it"),
    ("handling", "Makes an error handler: a thread is seen to be in it"),
    ("guarded", "Input, output and windows of one rank: what the library calls inside is not the program's own"),
];
