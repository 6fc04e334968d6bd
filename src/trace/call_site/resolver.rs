//! Resolves call sites, each once.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mpitrace_format::layout::PYTHON_SITE;

use super::module::Module;
use super::{Site, debug_file};

/// Where distributions put what they strip off their programs and libraries.
const DEBUG_FOLDERS: [&str; 1] = ["/usr/lib/debug"];

/// The module with this build id and its debug files, the best first; none, if it is not there or another one.
pub(crate) fn debug_files(module: &Path, build_id: Option<&str>) -> Vec<PathBuf> {
    debug_file::candidates(module, build_id, &DEBUG_FOLDERS.map(PathBuf::from)).unwrap_or_default()
}

/// Resolves call sites. A module's debug data are read when its first site is asked for, and kept.
///
/// ```
/// use mpitrace_trace::call_site::{Resolver, Unresolved};
///
/// let site = Resolver::new().resolve("/nowhere/libapp.so", None, 0x1234);
/// assert_eq!((site.to_string(), site.unresolved), ("libapp.so+0x1234".to_owned(), Some(Unresolved::Gone)));
/// ```
pub struct Resolver {
    debug_folders: Vec<PathBuf>,
    /// By path and build id.
    modules: HashMap<(String, Option<String>), Known>,
}

struct Known {
    module: Module,
    sites: HashMap<u64, Arc<Site>>,
}

impl Resolver {
    /// One that knows nothing yet.
    pub fn new() -> Resolver {
        Resolver::with_debug_folders(DEBUG_FOLDERS.map(PathBuf::from).to_vec())
    }

    /// One that looks for separate debug files below these folders.
    pub(crate) fn with_debug_folders(debug_folders: Vec<PathBuf>) -> Resolver {
        Resolver { debug_folders, modules: HashMap::new() }
    }

    /// The site of a call that returns to `offset` in `module`.
    ///
    /// `offset` is the return address less what the loader added to the module's own addresses (`dlpi_addr` of
    /// dl_iterate_phdr(3); 0 for a program that is linked to a fixed address). A return address lies behind the call,
    /// which may end a line, and even a function that does not return: the byte before it is looked up. `build_id` is
    /// the traced module's, in hexadecimal: where it is given, a file with another one, or with none, is not believed.
    ///
    /// A line of Python is known already: [`PYTHON_SITE`] and its function are in place of the build id, the line in
    /// that of the offset.
    ///
    /// Never fails: what cannot be found is said by `Site::unresolved`.
    pub fn resolve(&mut self, module: &str, build_id: Option<&str>, offset: u64) -> Arc<Site> {
        if let Some(function) = build_id.and_then(|id| id.strip_prefix(PYTHON_SITE)) {
            return Arc::new(Site::of_python(module, function, offset));
        }
        let build_id = build_id.map(str::to_ascii_lowercase).filter(|id| !id.is_empty());
        let known = self.modules.entry((module.to_owned(), build_id)).or_insert_with_key(|(path, build_id)| Known {
            module: Module::open(path, build_id.as_deref(), &self.debug_folders),
            sites: HashMap::new(),
        });
        let site = known.sites.entry(offset).or_insert_with(|| Arc::new(known.module.site(module, offset)));
        Arc::clone(site)
    }
}

impl Default for Resolver {
    fn default() -> Resolver {
        Resolver::new()
    }
}
