//! A frame: the line of JSON that a node writes after each look.

use std::collections::BTreeMap;

use anyhow::Result;
use mpitrace_live::Summary;
use mpitrace_show::output::DataSink;
use serde::{Deserialize, Serialize};

/// The stacks of a rank's threads, or why there are none.
pub type Threads = Vec<Result<Vec<String>, String>>;

/// One node's share of a look, with those of the nodes whose looks it passes on.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Frame {
    pub summary: Summary,
    /// The stacks of ranks that were asked for since the last look.
    pub stacks: BTreeMap<u32, Threads>,
}

impl Frame {
    /// Writes it as one line.
    pub fn write(&self, output: &mut impl DataSink) -> Result<()> {
        let output = output.data();
        serde_json::to_writer(&mut *output, self)?;
        Ok(output.write_all(b"\n")?)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, Write};

    use mpitrace_show::output::Output;

    use super::*;

    #[test]
    fn a_frame_comes_as_it_was_written() {
        let mut summary = Summary::default();
        (summary.nodes, summary.unreadable) = (2, vec!["a: is too short".into()]);
        let stacks: BTreeMap<u32, Threads> = [(3, vec![Ok(vec!["main".to_owned()]), Err("why".to_owned())])].into();
        let frame = Frame { summary, stacks };
        // It is longer than lines of a page may be.
        let mut file = tempfile::tempfile().unwrap();
        let mut output = Output::file(file.try_clone().unwrap());
        frame.write(&mut output).unwrap();
        frame.write(&mut output).unwrap();
        output.flush().unwrap();
        let mut text = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text.lines().count(), 2);
        for line in text.lines() {
            let found: Frame = serde_json::from_str(line).unwrap();
            assert_eq!((found.summary.nodes, &found.stacks), (2, &frame.stacks));
            assert_eq!(found.summary.unreadable, frame.summary.unreadable);
        }
    }
}
