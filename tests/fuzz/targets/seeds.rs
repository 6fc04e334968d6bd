//! Writes the first inputs of each target: `seeds FOLDER` makes FOLDER/TARGET/NAME.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use mpitrace_fuzz::seeds::{segment, text, trace};

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: seeds FOLDER");
        return ExitCode::from(2);
    };
    match write(&folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("seeds: {}: {error}", folder.display());
            ExitCode::FAILURE
        }
    }
}

fn write(folder: &Path) -> std::io::Result<()> {
    let traces = trace::all()?;
    let of_targets = [
        ("reader", traces.clone()),
        ("join", traces),
        ("recover", segment::all()),
        ("csv", text::csv()?),
        ("reprompi", text::reprompi()?),
    ];
    for (target, seeds) in of_targets {
        std::fs::create_dir_all(folder.join(target))?;
        for (name, bytes) in seeds {
            std::fs::write(folder.join(target).join(name), bytes)?;
        }
    }
    Ok(())
}
