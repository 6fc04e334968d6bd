//! srun's way: `--export` lists what the ranks get, and by default they get all that srun has.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::words::{Job, assignment, options, split};
use super::{PRELOAD, Tracer};

const EXPORT: &str = "--export";

/// Prepares a command line in which the word at `launcher` is srun.
///
/// `--export` splits its list at commas, which the values of the tracer's variables hold: those go through the
/// environment of srun, which `ALL` and a bare name pass on.
pub fn job(command: &[OsString], launcher: usize, tracer: &Tracer) -> Job {
    let mut job = options(command, launcher, |context, _| {
        let mut rewritten = context.to_vec();
        let own = rewritten.iter_mut().find_map(|word| Some((own_list(word)?, word)));
        match own {
            Some((base, word)) => *word = assignment(EXPORT.as_ref(), &list(&base, tracer)),
            None => {
                let base = tracer.slurm_export.as_deref().unwrap_or("ALL".as_ref());
                rewritten.insert(0, assignment(EXPORT.as_ref(), &list(base, tracer)));
            }
        }
        rewritten
    });
    job.environment = tracer.variables.clone();
    let doubtful = |word: &OsString| split(word).0 == EXPORT && own_list(word).is_none();
    job.note = command[launcher + 1..].iter().any(doubtful).then(|| {
        let needed = list("NONE".as_ref(), tracer);
        format!("if {EXPORT} is an option of srun, add {} to its list", needed.to_string_lossy())
    });
    job
}

/// The list that the user gives to srun. The program's own arguments stand in the same line and cannot be told from
/// srun's: only what begins as lists for srun do is taken.
fn own_list(word: &OsStr) -> Option<OsString> {
    let (name, value) = split(word);
    let value = value.filter(|_| name == EXPORT)?;
    let first = value.as_bytes().split(|&byte| byte == b',').next()?;
    let known = [&b"ALL"[..], b"NONE", b"NIL"].iter().any(|known| first.eq_ignore_ascii_case(known));
    known.then_some(value)
}

fn list(base: &OsStr, tracer: &Tracer) -> OsString {
    let nothing = ["NONE", "NIL"].iter().any(|word| base.eq_ignore_ascii_case(word));
    let mut words = base.as_bytes().split(|&byte| byte == b',');
    let everything = words.any(|word| word.eq_ignore_ascii_case(b"ALL"));
    let mut list = OsString::new();
    if !nothing {
        list.push(base);
        list.push(",");
    }
    list.push(assignment(PRELOAD.as_ref(), &tracer.preload()));
    for (name, _) in tracer.variables.iter().filter(|_| !everything) {
        list.push(",");
        list.push(name);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn srun_gets_a_list_of_what_to_export() {
        let all = "--export=ALL,LD_PRELOAD=/t.so";
        let cases = [
            (None, "srun -n 2 ./a", format!("srun {all} -n 2 ./a")),
            (None, "srun -n 1 ./a : -n 1 ./b", format!("srun {all} -n 1 ./a : {all} -n 1 ./b")),
            (None, "srun --export=ALL,X=1 ./a", "srun --export=ALL,X=1,LD_PRELOAD=/t.so ./a".into()),
            (None, "srun --export=NONE ./a", "srun --export=LD_PRELOAD=/t.so,MPITRACE_EVENTS ./a".into()),
            (Some("NONE"), "srun ./a", "srun --export=LD_PRELOAD=/t.so,MPITRACE_EVENTS ./a".into()),
            (Some("HOME"), "srun ./a", "srun --export=HOME,LD_PRELOAD=/t.so,MPITRACE_EVENTS ./a".into()),
            (None, "srun ./a --export=x.csv", format!("srun {all} ./a --export=x.csv")),
        ];
        for (exported, line, expected) in cases {
            let tracer = Tracer {
                library: "/t.so".into(),
                preloaded: None,
                variables: vec![("MPITRACE_EVENTS".into(), "cycles,instructions".into())],
                slurm_export: exported.map(OsString::from),
            };
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let job = job(&words, 0, &tracer);
            assert_eq!(job.command.join(OsStr::new(" ")).to_str(), Some(expected.as_str()));
            assert_eq!(job.environment, tracer.variables);
            assert_eq!(job.note.is_some(), line.ends_with("x.csv"), "{line}");
        }
    }
}
