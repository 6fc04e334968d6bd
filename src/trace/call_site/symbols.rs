//! The functions of a module by its symbol table.
//!
//! addr2line's own table knows no sizes: it gives an address behind a function to that function, which in a stripped
//! module is most often wrong.

use std::fs::File;
use std::path::Path;

use object::{Object, ObjectSymbol, ReadCache, SymbolKind};

/// Functions with their addresses: the first one, and the one behind the last.
#[derive(Debug, Default)]
pub(super) struct Symbols(Vec<(u64, u64, String)>);

impl Symbols {
    /// The symbols of a file, whether for the linker or for the loader. None where it cannot be read.
    pub(super) fn read(path: &Path) -> Symbols {
        let Ok(file) = File::open(path) else {
            return Symbols::default();
        };
        let cache = ReadCache::new(file);
        let Ok(object) = object::File::parse(&cache) else {
            return Symbols::default();
        };
        let functions = object.symbols().chain(object.dynamic_symbols()).filter_map(|symbol| {
            let is_function = symbol.kind() == SymbolKind::Text && symbol.is_definition() && symbol.size() > 0;
            let end = symbol.address().checked_add(symbol.size())?;
            is_function.then_some((symbol.address(), end, symbol.name().ok()?.to_owned()))
        });
        let mut functions: Vec<_> = functions.collect();
        functions.sort();
        Symbols(functions)
    }

    /// The name of the function that this address is in.
    pub(super) fn name_at(&self, address: u64) -> Option<&str> {
        let behind = self.0.partition_point(|(start, _, _)| *start <= address);
        // Of several names for one address the first: they differ in nothing but the name.
        let (start, _, _) = self.0[..behind].last()?;
        let first = self.0.partition_point(|(other, _, _)| other < start);
        self.0[first..behind].iter().find(|(_, end, _)| address < *end).map(|(_, _, name)| name.as_str())
    }
}
