//! Which file holds the debug data of a module, and whether it is the module that was traced.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSegment, ReadCache};

use super::Unresolved;

/// The marks by which a module is distinguished from other builds of it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Identity {
    /// The build id, hexadecimal.
    build_id: Option<String>,
    /// The name of the file with its debug data (.gnu_debuglink).
    link: Option<String>,
    /// True if it has DWARF itself.
    has_lines: bool,
}

impl Identity {
    fn read(path: &Path) -> Result<Identity, Unresolved> {
        let why = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Unresolved::Gone,
            _ => Unresolved::Unreadable,
        };
        // A trace may name anything: opening a pipe would wait for its writer.
        if !path.metadata().map_err(why)?.is_file() {
            return Err(Unresolved::Unreadable);
        }
        let file = File::open(path).map_err(why)?;
        let cache = ReadCache::new(file);
        let object = object::File::parse(&cache).map_err(|_| Unresolved::Unreadable)?;
        let build_id = object.build_id().ok().flatten().map(hexadecimal);
        let link = object.gnu_debuglink().ok().flatten();
        let link = link.map(|(name, _)| String::from_utf8_lossy(name).into_owned());
        Ok(Identity { build_id, link, has_lines: object.section_by_name(".debug_line").is_some() })
    }
}

/// The files to look an address up in, the best first: those with line numbers before those with symbols alone.
///
/// # Errors
/// That the module is not there, not readable, or not the one with this build id, and no debug file for the build id is
/// installed either.
pub(super) fn candidates(
    module: &Path,
    build_id: Option<&str>,
    folders: &[PathBuf],
) -> Result<Vec<PathBuf>, Unresolved> {
    let found = Identity::read(module).and_then(|identity| match build_id {
        Some(traced) if identity.build_id.as_deref() != Some(traced) => Err(Unresolved::OtherBuild),
        _ => Ok(identity),
    });
    let wanted = build_id.or(found.as_ref().ok().and_then(|identity| identity.build_id.as_deref()));
    let mut separate = Vec::new();
    if let Some(id) = wanted {
        separate.extend(folders.iter().filter_map(|folder| find_by_build_id(folder, id)));
    }
    if let Ok(Identity { link: Some(link), .. }) = &found {
        separate.extend(find_by_link(module, link, folders));
    }
    // A debug file is believed for its build id alone.
    separate.retain(|path| {
        let id = Identity::read(path).ok().and_then(|identity| identity.build_id);
        id.is_some() && id.as_deref() == wanted
    });
    match found {
        Ok(identity) if identity.has_lines => Ok([vec![module.to_owned()], separate].concat()),
        Ok(_) => Ok([separate, vec![module.to_owned()]].concat()),
        Err(_) if !separate.is_empty() => Ok(separate),
        Err(why) => Err(why),
    }
}

/// The addresses of the file's code. Functions that the linker has dropped keep their debug data, at addresses from 0
/// on.
pub(super) fn code(path: &Path) -> Vec<Range<u64>> {
    let Ok(file) = File::open(path) else {
        return Vec::new();
    };
    let cache = ReadCache::new(file);
    let Ok(object) = object::File::parse(&cache) else {
        return Vec::new();
    };
    let segments = object.segments().filter(|segment| segment.permissions().executable());
    segments.map(|segment| segment.address()..segment.address().saturating_add(segment.size())).collect()
}

/// `FOLDER/.build-id/ab/cdef.debug`, as gdb looks for it.
fn find_by_build_id(folder: &Path, id: &str) -> Option<PathBuf> {
    let (first, rest) = (id.get(..2)?, id.get(2..)?);
    Some(folder.join(".build-id").join(first).join(format!("{rest}.debug"))).filter(|path| path.is_file())
}

/// Beside the module, in `.debug` below that, and below the debug folders under the module's own path.
fn find_by_link(module: &Path, link: &str, folders: &[PathBuf]) -> Vec<PathBuf> {
    let beside = module.parent().unwrap_or(Path::new("/"));
    let below = beside.strip_prefix("/").unwrap_or(beside);
    let mut paths = vec![beside.join(link), beside.join(".debug").join(link)];
    paths.extend(folders.iter().map(|folder| folder.join(below).join(link)));
    paths.retain(|path| path.is_file() && path != module);
    paths
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
