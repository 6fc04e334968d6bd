//! The names of the files by which the ranks of a node meet, in shared memory or in a temporary folder.

/// How the names of all of them begin, of any user.
pub const ANY_PREFIX: &str = "mpitrace-";
/// How the name of a live segment ends.
pub const SEGMENT: &str = ".segment";
/// The end that the name of a segment gets in that of the file with its blocks.
pub const BLOCKS: &str = ".blocks";
/// How the name of the link ends that says what the count on the node has come to.
pub const HERE: &str = "-here";
/// How the name of the link ends that says whether all ranks of the job are traced.
pub const ANSWER: &str = "-answer";
/// How the name of the file ends whose maker asks the other nodes.
pub const LEADER: &str = "-leader";
/// How the name of the page ends that the ranks of a clock domain share.
pub const CLOCK: &str = ".clock";
/// How the name of the file ends whose memory the ranks of a run share that are all on one node.
pub const MEETING: &str = ".meeting";
/// How the name of the link ends by which a rank states that it cannot open that file.
pub const REFUSED: &str = "-refused";
/// All names of what is left only by a job that is killed in MPI_Init.
pub const LEFT: [&str; 6] = [HERE, ANSWER, LEADER, CLOCK, MEETING, REFUSED];

/// How the names of those of the user `uid` begin.
pub fn prefix(uid: u32) -> String {
    format!("{ANY_PREFIX}{uid}-")
}
