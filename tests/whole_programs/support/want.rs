//! The operations that a test expects, and their comparison with those of a trace.

use super::trace::{Info, Operation};
use std::fmt::Write;

/// An operation as it should be.
#[derive(Clone)]
pub struct Want {
    pub function: &'static str,
    pub communicator: &'static str,
    ranks: u64,
    bytes: Vec<u64>,
    root: Option<i64>,
    datatype: Option<&'static str>,
    reduction: Option<&'static str>,
    repetitions: u64,
    incomplete: u64,
}

/// For a communicator without a name of its own, which the trace numbers: `comm-N`.
pub const NUMBERED: &str = "comm-N";
pub const WORLD: &str = "MPI_COMM_WORLD";

/// A call on this communicator of so many ranks, once, of no bytes.
pub fn want(function: &'static str, communicator: &'static str, ranks: u64) -> Want {
    let (root, datatype, reduction) = (None, None, None);
    Want { function, communicator, ranks, bytes: vec![0], root, datatype, reduction, repetitions: 1, incomplete: 0 }
}

impl Want {
    pub fn times(self, repetitions: u64) -> Self {
        Self { repetitions, ..self }
    }

    /// So many repetitions that not every rank kept.
    pub fn incomplete(self, incomplete: u64) -> Self {
        Self { incomplete, ..self }
    }

    pub fn of(self, bytes: u64, datatype: &'static str) -> Self {
        Self { bytes: vec![bytes], datatype: Some(datatype), ..self }
    }

    /// Where the definition of the size leaves two readings.
    pub fn or_bytes(mut self, bytes: u64) -> Self {
        self.bytes.push(bytes);
        self
    }

    pub fn root(self, root: i64) -> Self {
        Self { root: Some(root), ..self }
    }

    pub fn by(self, reduction: &'static str) -> Self {
        Self { reduction: Some(reduction), ..self }
    }

    fn fits(&self, got: &Operation) -> bool {
        let name = &got.communicator;
        let numbered = name.strip_prefix("comm-").is_some_and(|number| number.parse::<u64>().is_ok());
        self.function == got.function
            && if self.communicator == NUMBERED { numbered } else { self.communicator == name }
            && self.ranks == got.ranks
            && self.bytes.contains(&got.bytes)
            && self.root == got.root
            && (self.datatype == Some("any") || self.datatype == got.datatype.as_deref())
            && self.reduction == got.reduction.as_deref()
            && self.repetitions == got.repetitions
            && self.incomplete == got.incomplete
    }

    fn line(&self) -> String {
        let Self { function, communicator, ranks, root, datatype, reduction, repetitions, incomplete, .. } = self;
        let bytes: Vec<_> = self.bytes.iter().map(u64::to_string).collect();
        row(function, communicator, &bytes.join("|"), *root, *datatype, *reduction, *ranks, *repetitions, *incomplete)
    }
}

#[allow(clippy::too_many_arguments, reason = "the columns of a table")]
fn row(
    function: &str,
    communicator: &str,
    bytes: &str,
    root: Option<i64>,
    datatype: Option<&str>,
    reduction: Option<&str>,
    ranks: u64,
    repetitions: u64,
    incomplete: u64,
) -> String {
    let root = root.map_or("-".into(), |root| root.to_string());
    let (datatype, reduction) = (datatype.unwrap_or("-"), reduction.unwrap_or("-"));
    format!(
        "{function} {communicator} bytes {bytes} root {root} {datatype} {reduction} ranks {ranks} \
         repetitions {repetitions} incomplete {incomplete}"
    )
}

fn shown(got: &Operation) -> String {
    let Operation { function, communicator, bytes, root, datatype, reduction, ranks, repetitions, incomplete, .. } =
        got;
    let bytes = bytes.to_string();
    let (datatype, reduction) = (datatype.as_deref(), reduction.as_deref());
    row(function, communicator, &bytes, *root, datatype, reduction, *ranks, *repetitions, *incomplete)
}

impl Info {
    /// A whole trace with exactly these operations, in this order, and nothing else.
    #[track_caller]
    pub fn assert_is(&self, wants: &[Want]) {
        let mut table = String::new();
        let mut wrong = self.operations.len() != wants.len();
        wrong |= !self.operations.is_sorted_by_key(|operation| operation.operation);
        for i in 0..self.operations.len().max(wants.len()) {
            let (want, got) = (wants.get(i), self.operations.get(i));
            let fits = want.zip(got).is_some_and(|(want, got)| want.fits(got));
            wrong |= !fits;
            let mark = if fits { ' ' } else { '!' };
            let _ = writeln!(table, "{mark} want {}", want.map_or("nothing".into(), Want::line));
            let _ = writeln!(table, "{mark}  got {}", got.map_or("nothing".into(), shown));
        }
        assert!(!wrong, "the operations are not as they should be:\n{table}");
        let records: u64 = wants.iter().map(|want| want.ranks * want.repetitions).sum();
        assert_eq!((self.records, self.dropped, self.complete), (records, 0, true), "records, dropped, complete");
    }

    /// Exactly these operations, in any order.
    #[track_caller]
    pub fn assert_is_in_any_order(mut self, wants: &[Want]) {
        let mut sorted = Vec::new();
        for want in wants {
            if let Some(i) = self.operations.iter().position(|got| want.fits(got)) {
                sorted.push(self.operations.remove(i));
            }
        }
        sorted.append(&mut self.operations);
        for (i, operation) in sorted.iter_mut().enumerate() {
            operation.operation = i as u64;
        }
        self.operations = sorted;
        self.assert_is(wants);
    }
}
