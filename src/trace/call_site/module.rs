//! One module's debug data.

use std::cell::OnceCell;
use std::ops::Range;
use std::path::{Path, PathBuf};

use addr2line::Loader;

use super::symbols::Symbols;
use super::{Frame, Site, Unresolved, debug_file, name};

/// The debug data of a module, or why there are none.
pub(super) struct Module(Result<Vec<Data>, Unresolved>);

struct Data {
    path: PathBuf,
    code: Vec<Range<u64>>,
    lines: Loader,
    /// Read where lines are not enough.
    symbols: OnceCell<Symbols>,
}

impl Module {
    /// Reads what is there of the module with this build id.
    pub(super) fn open(path: &str, build_id: Option<&str>, debug_folders: &[PathBuf]) -> Module {
        let candidates = match debug_file::candidates(Path::new(path), build_id, debug_folders) {
            Ok(candidates) => candidates,
            Err(why) => return Module(Err(why)),
        };
        let data = candidates.into_iter().filter_map(|path| {
            let lines = Loader::new(&path).ok()?;
            Some(Data { code: debug_file::code(&path), path, lines, symbols: OnceCell::new() })
        });
        let data: Vec<Data> = data.collect();
        Module(if data.is_empty() { Err(Unresolved::Unreadable) } else { Ok(data) })
    }

    /// The site of the call before this return address.
    pub(super) fn site(&self, module: &str, offset: u64) -> Site {
        let files = match &self.0 {
            Ok(files) => files,
            Err(why) => return Site::unresolved(module, offset, *why),
        };
        let address = offset.saturating_sub(1);
        if !files.iter().any(|file| file.code.iter().any(|range| range.contains(&address))) {
            return Site::unresolved(module, offset, Unresolved::NoSymbol);
        }
        let symbol = || files.iter().find_map(|file| file.symbol(address));
        let frames = files.iter().find_map(|file| file.frames(address));
        // Assembler and some runtimes have lines without functions: the symbol table names those.
        let frames = frames.unwrap_or_else(|| vec![(symbol(), None, None)]);
        let mut frames =
            frames.into_iter().map(|(name, file, line)| Some(Frame { symbol: name.or_else(symbol)?, file, line }));
        let Some(Some(Frame { symbol, file, line })) = frames.next() else {
            return Site::unresolved(module, offset, Unresolved::NoSymbol);
        };
        Site {
            module: module.to_owned(),
            offset,
            symbol: Some(symbol),
            unresolved: line.is_none().then_some(Unresolved::NoLines),
            file,
            line,
            inlined: frames.flatten().collect(),
        }
    }
}

/// The function, where DWARF names it, its file and line.
type SourcePlace = (Option<String>, Option<String>, Option<u32>);

impl Data {
    /// The frames of the address by DWARF, the innermost first; not empty.
    fn frames(&self, address: u64) -> Option<Vec<SourcePlace>> {
        let mut read = self.lines.find_frames(address).ok()?;
        let mut frames = Vec::new();
        while let Ok(Some(frame)) = read.next() {
            let function = frame.function.as_ref().and_then(|function| {
                let raw = function.raw_name().ok()?;
                Some(name::readable(&raw, function.language))
            });
            let (file, line) = frame.location.map_or((None, None), |location| (location.file, location.line));
            // DWARF's line 0: code that belongs to no line.
            frames.push((function, file.map(str::to_owned), line.filter(|&line| line > 0)));
        }
        (!frames.is_empty()).then_some(frames)
    }

    fn symbol(&self, address: u64) -> Option<String> {
        let symbols = self.symbols.get_or_init(|| Symbols::read(&self.path));
        symbols.name_at(address).map(|raw| name::readable(raw, None))
    }
}
