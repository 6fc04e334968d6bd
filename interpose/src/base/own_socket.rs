//! Sockets by which processes of a node pass each other a file, so that one of them opens it for all.
//!
//! Their descriptors are treated as those of files are ([`crate::base::own_file`]): high, close-on-exec, and used and
//! closed only after fstat(2) has said that they are ours. A name lies in the kernel, not in a folder; any process of
//! the node may take it, so both sides ask the kernel whose the other one is.

use std::ffi::c_int;
use std::io;
use std::mem::{MaybeUninit, offset_of};
use std::time::Duration;

use mpitrace_platform::time::Instant;

use crate::base::{descriptor, system};

/// A message has at most so many bytes.
pub const MOST: usize = 8192;
/// Processes that have connected and were not accepted yet: as many as the kernel keeps.
const BACKLOG: c_int = 4096;

#[derive(Debug)]
pub struct OwnSocket {
    descriptor: c_int,
    /// Device and number, as of a file.
    identity: (u64, u64),
}

/// A message, and the descriptor that came with it: high, and marked close-on-exec.
pub struct Received {
    pub bytes: Vec<u8>,
    pub descriptor: Option<c_int>,
}

/// Room for a control message with one descriptor.
const CONTROL: usize = 64;
#[repr(C, align(8))]
struct Control([u8; CONTROL]);

impl OwnSocket {
    /// Waits under a name for others to connect. `AddrInUse`: another process of the node does.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn listen(name: &str) -> io::Result<OwnSocket> {
        let socket = OwnSocket::make()?;
        let (address, length) = address(name)?;
        // SAFETY: the address has this length, and outlives the call.
        done(unsafe { libc::bind(socket.descriptor, (&raw const address).cast(), length) })?;
        // SAFETY: takes numbers.
        done(unsafe { libc::listen(socket.descriptor, BACKLOG) })?;
        Ok(socket)
    }

    /// Connects to the process that waits under a name.
    ///
    /// # Errors
    /// `ConnectionRefused`: none does, or not yet; `PermissionDenied`: another user's; the error of the system call.
    pub fn connect(name: &str) -> io::Result<OwnSocket> {
        let socket = OwnSocket::make()?;
        let (address, length) = address(name)?;
        // SAFETY: the address has this length, and outlives the call.
        done(unsafe { libc::connect(socket.descriptor, (&raw const address).cast(), length) })?;
        socket.of_this_user()
    }

    /// The next process of this user that has connected; `None`: there is none.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn accept(&self) -> io::Result<Option<OwnSocket>> {
        loop {
            let (address, flags) = (std::ptr::null_mut(), libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK);
            // SAFETY: takes a number; the address is not asked for.
            match done(unsafe { libc::accept4(self.ours()?, address, std::ptr::null_mut(), flags) }) {
                Ok(made) => {
                    if let Ok(other) = OwnSocket::new(made)?.of_this_user() {
                        return Ok(Some(other));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends a message of at most [`MOST`] bytes, and a file with it.
    ///
    /// # Errors
    /// The other has ended; there is no room for it; the error of the system call.
    pub fn send(&self, bytes: &[u8], file: Option<c_int>) -> io::Result<()> {
        let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let mut control = Control([0; CONTROL]);
        let mut message = message(&mut part);
        if let Some(file) = file {
            message.msg_control = (&raw mut control).cast();
            // SAFETY: takes numbers.
            message.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<c_int>() as u32) } as _;
            // SAFETY: the message has room for a header there, which is aligned.
            let header = unsafe { &mut *libc::CMSG_FIRSTHDR(&raw const message) };
            (header.cmsg_level, header.cmsg_type) = (libc::SOL_SOCKET, libc::SCM_RIGHTS);
            // SAFETY: takes numbers.
            header.cmsg_len = unsafe { libc::CMSG_LEN(size_of::<c_int>() as u32) } as _;
            // SAFETY: behind the header there is room for a descriptor.
            unsafe { libc::CMSG_DATA(header).cast::<c_int>().write_unaligned(file) };
        }
        // SAFETY: the message and what it names live until the call returns.
        done(unsafe { libc::sendmsg(self.ours()?, &raw const message, libc::MSG_NOSIGNAL) as c_int }).map(drop)
    }

    /// The next message, waited for as long as `patience` says between two looks at it.
    ///
    /// # Errors
    /// `UnexpectedEof`: the other has ended, or closed its side; `TimedOut`; the error of the system call.
    pub fn receive(&self, mut patience: impl FnMut(Duration) -> bool) -> io::Result<Received> {
        let started = Instant::now();
        loop {
            match self.receive_now() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                received => return received,
            }
            let mut poll = libc::pollfd { fd: self.ours()?, events: libc::POLLIN, revents: 0 };
            // SAFETY: one entry, which outlives the call.
            unsafe { libc::poll(&raw mut poll, 1, LOOK.as_millis() as c_int) };
            if !patience(started.elapsed()) {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }

    fn receive_now(&self) -> io::Result<Received> {
        let mut bytes = vec![0; MOST];
        let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        let mut control = Control([0; CONTROL]);
        let mut message = message(&mut part);
        (message.msg_control, message.msg_controllen) = ((&raw mut control).cast(), CONTROL as _);
        // SAFETY: the message and what it names live until the call returns, and have room for what it says.
        let came = unsafe { libc::recvmsg(self.ours()?, &raw mut message, libc::MSG_CMSG_CLOEXEC) };
        let length = usize::try_from(came).map_err(|_| io::Error::last_os_error())?;
        // SAFETY: the kernel has filled in the message.
        let header = unsafe { libc::CMSG_FIRSTHDR(&raw const message).as_ref() };
        let is_file =
            |header: &&libc::cmsghdr| (header.cmsg_level, header.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS);
        let descriptor = header.filter(is_file).map(|header| {
            // SAFETY: behind the header lies the descriptor, which is this process' from now on.
            descriptor::out_of_the_way(unsafe { libc::CMSG_DATA(header).cast::<c_int>().read_unaligned() })
        });
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.truncate(length);
        Ok(Received { bytes, descriptor })
    }

    fn make() -> io::Result<OwnSocket> {
        let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: takes numbers.
        OwnSocket::new(done(unsafe { libc::socket(libc::AF_UNIX, kind, 0) })?)
    }

    fn new(made: c_int) -> io::Result<OwnSocket> {
        let descriptor = descriptor::out_of_the_way(made);
        let identity = identity(descriptor).inspect_err(|_| {
            descriptor::close(descriptor);
        })?;
        Ok(OwnSocket { descriptor, identity })
    }

    /// `EBADF`: the program has closed the descriptor, or a file of its own has it.
    fn ours(&self) -> io::Result<c_int> {
        let is_ours = identity(self.descriptor).is_ok_and(|found| found == self.identity);
        if is_ours { Ok(self.descriptor) } else { Err(io::Error::from_raw_os_error(libc::EBADF)) }
    }

    /// Fails if the process on the other side is another user's.
    fn of_this_user(self) -> io::Result<OwnSocket> {
        let mut other: libc::ucred = libc::ucred { pid: 0, uid: u32::MAX, gid: 0 };
        let mut length = size_of::<libc::ucred>() as libc::socklen_t;
        let (place, length) = ((&raw mut other).cast(), &raw mut length);
        // SAFETY: there is room for what is asked for, and its length.
        done(unsafe { libc::getsockopt(self.ours()?, libc::SOL_SOCKET, libc::SO_PEERCRED, place, length) })?;
        if other.uid == system::user() { Ok(self) } else { Err(io::ErrorKind::PermissionDenied.into()) }
    }
}

impl Drop for OwnSocket {
    fn drop(&mut self) {
        // What has the number otherwise is the program's: it is not closed.
        if self.ours().is_ok() {
            descriptor::close(self.descriptor);
        }
    }
}

/// Between two questions whether to wait on. A message ends a wait at once.
const LOOK: Duration = Duration::from_millis(2);

fn message(part: &mut libc::iovec) -> libc::msghdr {
    // SAFETY: of numbers and pointers; zeros are a message without an address, parts and control.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    (message.msg_iov, message.msg_iovlen) = (part, 1);
    message
}

/// The address of a name that lies in no folder (unix(7)), and its length.
fn address(name: &str) -> io::Result<(libc::sockaddr_un, libc::socklen_t)> {
    let mut address = libc::sockaddr_un { sun_family: libc::AF_UNIX as libc::sa_family_t, sun_path: [0; 108] };
    let places = address.sun_path.get_mut(1..=name.len()).ok_or(io::ErrorKind::InvalidInput)?;
    places.iter_mut().zip(name.bytes()).for_each(|(place, byte)| *place = byte as libc::c_char);
    let length = offset_of!(libc::sockaddr_un, sun_path) + 1 + name.len();
    Ok((address, length as libc::socklen_t))
}

fn identity(descriptor: c_int) -> io::Result<(u64, u64)> {
    let mut found = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: there is room for the answer.
    done(unsafe { libc::fstat(descriptor, found.as_mut_ptr()) })?;
    // SAFETY: the call has filled it in.
    let found = unsafe { found.assume_init() };
    Ok((found.st_dev, found.st_ino))
}

fn done(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, Seek, SeekFrom, Write};
    use std::os::fd::{AsRawFd, FromRawFd};

    fn name(of: &str) -> String {
        format!("mpitrace-test-{}-{of}", std::process::id())
    }

    #[test]
    fn a_file_and_what_is_said_of_it_come_together() {
        let name = name("file");
        let giver = OwnSocket::listen(&name).unwrap();
        assert_eq!(OwnSocket::listen(&name).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        assert!(giver.accept().unwrap().is_none());
        let taker = OwnSocket::connect(&name).unwrap();
        let given = giver.accept().unwrap().expect("one has connected");
        let path = std::env::temp_dir().join(&name);
        let mut file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        given.send(b"of it", Some(file.as_raw_fd())).unwrap();
        let Received { bytes, descriptor } = taker.receive(|_| true).unwrap();
        assert_eq!(bytes, b"of it");
        let number = descriptor.expect("a file");
        assert!(number >= 4096.min(system::descriptor_limit() as c_int / 4 * 3), "{number}");
        // SAFETY: the descriptor is this test's.
        let mut taken = unsafe { File::from_raw_fd(number) };
        taken.write_all(b"written").unwrap();
        let mut text = String::new();
        file.seek(SeekFrom::Start(0)).unwrap();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "written");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn one_that_has_ended_or_says_nothing_is_not_waited_for() {
        let name = name("ended");
        let giver = OwnSocket::listen(&name).unwrap();
        let taker = OwnSocket::connect(&name).unwrap();
        let given = giver.accept().unwrap().unwrap();
        assert_eq!(taker.receive(|_| false).err().unwrap().kind(), io::ErrorKind::TimedOut);
        given.send(b"last", None).unwrap();
        drop(given);
        assert_eq!(taker.receive(|_| true).unwrap().bytes, b"last");
        assert_eq!(taker.receive(|_| true).err().unwrap().kind(), io::ErrorKind::UnexpectedEof);
        drop(giver);
        assert_eq!(OwnSocket::connect(&name).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }

    #[test]
    fn what_has_become_another_s_is_neither_used_nor_closed() {
        let _alone = descriptor::alone();
        let giver = OwnSocket::listen(&name("replaced")).unwrap();
        let theirs = File::open("/dev/null").unwrap();
        let number = giver.descriptor;
        // SAFETY: both are descriptors of this test.
        assert_eq!(unsafe { libc::dup2(theirs.as_raw_fd(), number) }, number);
        assert_eq!(giver.accept().err().unwrap().raw_os_error(), Some(libc::EBADF));
        drop(giver);
        // SAFETY: takes a number.
        assert_eq!(unsafe { libc::close(number) }, 0, "it was left open");
    }
}
