//! The command line of a benchmark: the synchronisation that it asks for.

use super::Synchronisation;

/// ReproMPI's options that say how it synchronises the ranks.
const OPTION: &str = "--proc-sync";
/// In its versions for windows alone.
const WINDOW: &str = "--window-size";

/// How the ranks were to be synchronised, if the command line of ReproMPI says so: `--proc-sync=roundtime` and others.
/// `None` for any other program.
pub fn asked_for(command: &str) -> Option<Synchronisation> {
    let mut words = command.split_whitespace();
    let mut value = None;
    while let Some(word) = words.next() {
        match word.strip_prefix(OPTION) {
            Some("") => value = words.next(),
            Some(rest) => value = rest.strip_prefix('=').or(value),
            None if word.starts_with(WINDOW) => value = value.or(Some("window")),
            None => {}
        }
    }
    let value = value?.to_ascii_lowercase();
    match value.as_str() {
        name if name.contains("round") => Some(Synchronisation::RoundTime),
        name if name.contains("win") => Some(Synchronisation::Window),
        name if name.contains("dissem") => Some(Synchronisation::Dissemination),
        name if name.contains("barrier") => Some(Synchronisation::Barrier),
        "none" => Some(Synchronisation::None),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_of_reprompi_are_known() {
        let cases = [
            ("./mpibenchmark --calls-list=MPI_Bcast --proc-sync=roundtime --nrep=5", Some(Synchronisation::RoundTime)),
            ("./mpibenchmark --proc-sync window --clock-sync=HCA3", Some(Synchronisation::Window)),
            ("./mpibenchmark --proc-sync=dissem_barrier", Some(Synchronisation::Dissemination)),
            ("./mpibenchmark --proc-sync=MPI_Barrier", Some(Synchronisation::Barrier)),
            ("./mpibenchmark --window-size=100", Some(Synchronisation::Window)),
            ("./mpibenchmark --proc-sync", None),
            ("./osu_allreduce -i 1000", None),
        ];
        for (command, expected) in cases {
            assert_eq!(asked_for(command), expected, "{command}");
        }
    }
}
