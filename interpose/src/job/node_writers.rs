//! The ranks of a node that write one trace: one of them opens the file and synchronises it, and gives it to the
//! others, which write their parts through it. So a file system is asked to open and to synchronise it once for each
//! node, not once for each rank, and the parts of a node lie next to each other. Each rank writes from where its
//! records lie.
//!
//! They find each other by a name in the kernel. Which of them gives the file is the one that comes first. Where a rank
//! cannot take part it opens the file itself, as a node of its own.

use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Duration;

use mpitrace_platform::time::Instant;

use crate::base::own_file::OwnFile;
use crate::base::own_socket::{OwnSocket, Received};
use crate::base::pause::Pause;

/// How long a rank looks for the one whose name it has found, which is about to wait for it.
const PATIENCE: Duration = Duration::from_secs(1);

/// A rank of this node, as it has come.
#[derive(Clone, Copy, Debug)]
pub struct Rank {
    pub number: u32,
    /// Bytes of its part.
    pub length: u64,
}

pub enum NodeWriters {
    /// This rank opens the file for itself.
    Alone(Rank),
    Gives {
        here: Rank,
        /// `None`: no more ranks are taken up.
        name: Option<OwnSocket>,
        takers: Vec<(Rank, OwnSocket)>,
    },
    /// Another rank of the node opens it.
    Takes { here: Rank, link: OwnSocket },
}

impl NodeWriters {
    /// Meets the ranks of this node that come under this name; the others wait for none of them. `made` is the file,
    /// where this rank has made it.
    pub fn meet(name: &str, here: Rank, made: Option<&OwnFile>) -> NodeWriters {
        match OwnSocket::listen(name) {
            Ok(name) => NodeWriters::Gives { here, name: Some(name), takers: Vec::new() },
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                connect(name, here, made).map_or(NodeWriters::Alone(here), |link| NodeWriters::Takes { here, link })
            }
            Err(_) => NodeWriters::Alone(here),
        }
    }

    /// True if this rank opens the file.
    pub fn opens(&self) -> bool {
        !matches!(self, NodeWriters::Takes { .. })
    }

    /// Takes up the ranks of this node that have come so far. The file, if one of them has made it; `partial` is its
    /// name.
    pub fn take_up(&mut self, partial: &Path) -> Option<OwnFile> {
        let NodeWriters::Gives { name: Some(name), takers, .. } = self else { return None };
        let mut made = None;
        while let Ok(Some(link)) = name.accept() {
            // It has spoken since.
            let Ok(Received { bytes, descriptor }) = link.receive(|waited| waited < PATIENCE) else { continue };
            made = made.or(descriptor.and_then(|file| OwnFile::received(file, partial, libc::O_RDWR).ok()));
            if let Ok([number, length]) = <[u64; 2]>::try_from(words(&bytes)) {
                takers.push((Rank { number: number as u32, length }, link));
            }
        }
        made
    }

    /// Bytes of the ranks for which this one gives the file, once all ranks of the node have come. A rank that cannot
    /// be taken up, as where the one that gives has no more descriptors, is alone. While this waits it calls
    /// `meanwhile`.
    pub fn bytes(&mut self, partial: &Path, meanwhile: &dyn Fn()) -> u64 {
        self.take_up(partial);
        match self {
            NodeWriters::Alone(here) => here.length,
            NodeWriters::Gives { here, name, takers } => {
                // Ranks that still wait to be taken up see that no rank gives them the file.
                *name = None;
                takers.sort_unstable_by_key(|(rank, _)| rank.number);
                takers.retain(|(_, link)| link.send(&[TAKEN_UP], None).is_ok());
                here.length + takers.iter().map(|(rank, _)| rank.length).sum::<u64>()
            }
            NodeWriters::Takes { here, link } => {
                let here = *here;
                if wait(link, meanwhile).is_ok() {
                    return 0;
                }
                *self = NodeWriters::Alone(here);
                here.length
            }
        }
    }

    /// Where this rank's part lies, and the file, if another rank has opened it. The parts of this node begin at
    /// `start`, in the order of the ranks.
    ///
    /// # Errors
    /// The rank that opens the file has ended.
    pub fn share(
        &self,
        start: u64,
        opened: Option<&OwnFile>,
        partial: &Path,
        meanwhile: &dyn Fn(),
    ) -> io::Result<(u64, Option<OwnFile>)> {
        match self {
            NodeWriters::Alone(_) => Ok((start, None)),
            NodeWriters::Gives { here, takers, .. } => {
                let (mut own, mut next) = (None, start);
                for (rank, link) in takers {
                    if rank.number > here.number && own.is_none() {
                        own = Some(next);
                        next += here.length;
                    }
                    // One that has ended is missed when all ranks meet.
                    let file = opened.and_then(|file| file.ours().ok()).map(AsRawFd::as_raw_fd);
                    let _ = link.send(&next.to_le_bytes(), file);
                    next += rank.length;
                }
                Ok((own.unwrap_or(next), None))
            }
            NodeWriters::Takes { link, .. } => {
                let Received { bytes, descriptor } = wait(link, meanwhile)?;
                let [offset] = <[u64; 1]>::try_from(words(&bytes)).map_err(|_| io::ErrorKind::InvalidData)?;
                // Where this process may have no more descriptors none has come.
                let file = descriptor.and_then(|file| OwnFile::received(file, partial, libc::O_WRONLY).ok());
                Ok((offset, file))
            }
        }
    }

    /// This rank has written what it has to write: tells it, or waits for the others of the node, as long as they live.
    pub fn have_written(&self, meanwhile: &dyn Fn()) {
        match self {
            NodeWriters::Alone(_) => {}
            // One that has ended is missed when all ranks meet.
            NodeWriters::Gives { takers, .. } => takers.iter().for_each(|(_, link)| drop(wait(link, meanwhile))),
            NodeWriters::Takes { link, .. } => drop(link.send(&[WRITTEN], None)),
        }
    }
}

/// The contents of a message of one byte.
const TAKEN_UP: u8 = 1;
const WRITTEN: u8 = 2;

/// The next message of a rank, as long as it lives.
fn wait(link: &OwnSocket, meanwhile: &dyn Fn()) -> io::Result<Received> {
    link.receive(|_| {
        meanwhile();
        true
    })
}

/// Connects to the rank that has the name, and says who has come.
fn connect(name: &str, here: Rank, made: Option<&OwnFile>) -> io::Result<OwnSocket> {
    let started = Instant::now();
    let mut pause = Pause::default();
    let link = loop {
        match OwnSocket::connect(name) {
            // It has the name, and does not wait for others yet.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused && started.elapsed() < PATIENCE => {
                pause.pause();
            }
            connected => break connected?,
        }
    };
    let said: Vec<u8> = [here.number.into(), here.length].iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
    link.send(&said, made.and_then(|file| file.ours().ok()).map(AsRawFd::as_raw_fd))?;
    Ok(link)
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).filter_map(|word| word.try_into().ok()).map(u64::from_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places of the parts of a node that begin at 1000, in the order of the ranks; and how many have opened the
    /// file, of which the first is made by `maker`.
    fn places(name: &str, ranks: &[(u32, u64)], maker: usize) -> (Vec<u64>, usize) {
        let name = format!("mpitrace-test-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(&name);
        let made = OwnFile::create_private(&path).unwrap();
        let met = std::sync::Barrier::new(ranks.len());
        let work = |index: usize, (number, length): (u32, u64)| {
            let made = (index == maker).then_some(&made);
            let mut node = NodeWriters::meet(&name, Rank { number, length }, made);
            met.wait();
            let received = node.take_up(&path);
            let before = node.bytes(&path, &|| {});
            assert_eq!(before > 0, node.opens());
            let opens = node.opens() && made.is_none() && received.is_none();
            let opened = node.opens().then(|| received.unwrap_or_else(|| OwnFile::open_existing(&path).unwrap()));
            let (place, given) = node.share(1000, opened.as_ref(), &path, &|| {}).unwrap();
            let mut file = given.or(opened).expect("a file");
            file.write_all_at(&vec![number as u8 + 1; length as usize], place).unwrap();
            node.have_written(&|| {});
            (place, opens)
        };
        let found: Vec<(u64, bool)> = std::thread::scope(|scope| {
            let work = &work;
            let all: Vec<_> =
                ranks.iter().enumerate().map(|(index, &rank)| scope.spawn(move || work(index, rank))).collect();
            all.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let written = std::fs::read(&path).unwrap();
        for (&(number, length), (place, _)) in ranks.iter().zip(&found) {
            let part = &written[*place as usize..][..length as usize];
            assert!(part.iter().all(|&byte| byte == number as u8 + 1), "rank {number}");
        }
        std::fs::remove_file(path).unwrap();
        let opened = found.iter().filter(|(_, opens)| *opens).count();
        (found.into_iter().map(|(place, _)| place).collect(), opened)
    }

    #[test]
    fn parts_lie_in_the_order_of_the_ranks_and_the_file_is_opened_once() {
        for (name, maker) in [("made-0", 0), ("made-2", 2)] {
            let (places, opened) = places(name, &[(3, 10), (5, 0), (9, 7), (12, 4096)], maker);
            assert_eq!((places, opened), (vec![1000, 1010, 1010, 1017], 0), "the one that made it gives it");
        }
        let (places, opened) = places("elsewhere", &[(1, 5), (2, 6)], 9);
        assert_eq!((places, opened), (vec![1000, 1005], 1));
    }

    #[test]
    fn a_rank_that_is_not_taken_up_or_whose_giver_has_ended_does_not_wait() {
        let name = |of: &str| format!("mpitrace-test-{}-{of}", std::process::id());
        let path = std::env::temp_dir().join("none");
        let rank = |number| Rank { number, length: 8 };
        let [mut giver, mut taker] = [0, 1].map(|number| NodeWriters::meet(&name("late"), rank(number), None));
        assert!(giver.opens() && !taker.opens());
        let mut late = NodeWriters::meet(&name("late"), rank(2), None);
        assert_eq!(giver.bytes(&path, &|| {}), 24, "all that have come");
        assert_eq!([&mut taker, &mut late].map(|rank| rank.bytes(&path, &|| {})), [0, 0]);
        // The one that gives ends.
        drop(giver);
        assert!(taker.share(0, None, &path, &|| {}).is_err());
        let giver = NodeWriters::meet(&name("ended"), rank(0), None);
        let mut taker = NodeWriters::meet(&name("ended"), rank(1), None);
        drop(giver);
        assert_eq!((taker.bytes(&path, &|| {}), taker.opens()), (8, true), "it is alone");
        assert_eq!(taker.share(100, None, &path, &|| {}).unwrap().0, 100);
    }
}
