//! An OTF2 archive, as Vampir, Scalasca and Cube read it, written by the OTF2 library of the machine.
//!
//! Time stamps are global, in ns; the clock offsets that go with them are 0 and state the standard deviation. A call is
//! ENTER, COLLECTIVE_BEGIN, COLLECTIVE_END, LEAVE. Of one with a request ENTER and LEAVE enclose the starting call, and
//! it ends with NON_BLOCKING_COLLECTIVE_COMPLETE. A call that did not return has no end. Message calls, where they were
//! recorded, have the events of their messages.

mod archive;
mod collective;
mod definitions;
mod events;
mod library;

use anyhow::{Context, Result};
use mpitrace_show::destination::Destination;

use super::messages::MessageRows;
use super::rows::Calls;
use super::stamps::Stamps;
use archive::Archive;
pub use collective::Collective;
use definitions::Definitions;
use library::Library;

/// An archive.
pub fn export(calls: &Calls, operation: Option<usize>, destination: &mut Destination) -> Result<()> {
    let library = Library::load()?;
    let messages = MessageRows::new(calls);
    let stamps = Stamps::new(calls, &messages);
    let definitions = Definitions::new(calls, &messages);
    let path = destination.path();
    destination.folder(|folder| {
        let write = || {
            let archive = Archive::create(&library, folder)?;
            let counts = events::write(&archive, calls, &messages, operation, &stamps, &definitions)?;
            definitions.write(&archive, calls, &stamps, &counts)?;
            archive.close()
        };
        write().with_context(|| format!("cannot write {}", path.display()))
    })
}
