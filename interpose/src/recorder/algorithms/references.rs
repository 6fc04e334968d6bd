//! Which of the functions that are algorithms the loaded objects reach by their symbols, and so through this library.
//!
//! An object that was linked with -Bsymbolic, by link-time optimisation, or with these functions hidden has no
//! relocation for them.

use std::ffi::CStr;

use mpitrace_format::algorithms::functions;

use crate::base::hash::FastMap;
use crate::base::symbol;

const DT_PLTRELSZ: i64 = 2;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_JMPREL: i64 = 23;

/// For each function whether another object has a relocation by its symbol.
pub fn find() -> Vec<bool> {
    let index: FastMap<&[u8], usize> =
        functions().iter().enumerate().map(|(index, function)| (function.symbol.as_bytes(), index)).collect();
    let mut found = vec![false; functions().len()];
    let ours = symbol::object_of(find as *const () as usize);
    symbol::for_each_object(&mut |(_, base), headers| {
        if Some(base) != ours
            && let Some(object) = Object::new(base, headers)
        {
            object.each_symbol(&mut |name| {
                if let Some(&index) = index.get(name) {
                    found[index] = true;
                }
            });
        }
        true
    });
    found
}

/// The addresses of an object's tables.
struct Object {
    symbols: usize,
    names: usize,
    /// With their lengths in bytes.
    relocations: [Option<(usize, usize)>; 2],
}

impl Object {
    fn new(base: usize, headers: &[libc::Elf64_Phdr]) -> Option<Object> {
        let dynamic = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC)?;
        let start = std::ptr::with_exposed_provenance::<[i64; 2]>(base.wrapping_add(dynamic.p_vaddr as usize));
        // SAFETY: the loader keeps the dynamic section of an object mapped while its list of objects is walked.
        let entries = unsafe { std::slice::from_raw_parts(start, dynamic.p_memsz as usize / size_of::<[i64; 2]>()) };
        let value = |tag| entries.iter().find(|entry| entry[0] == tag).map(|entry| entry[1] as usize);
        let relocations = [(DT_RELA, DT_RELASZ), (DT_JMPREL, DT_PLTRELSZ)];
        let relocations = relocations.map(|(start, length)| value(start).zip(value(length)));
        Some(Object { symbols: value(DT_SYMTAB)?, names: value(DT_STRTAB)?, relocations })
    }

    /// Visits the names of the symbols that are relocated.
    fn each_symbol(&self, visit: &mut dyn FnMut(&[u8])) {
        for (start, length) in self.relocations.into_iter().flatten() {
            for place in (start..start + length).step_by(size_of::<libc::Elf64_Rela>()) {
                // SAFETY: the loader has made addresses of the entries of the dynamic section, and has relocated the
                // object by this table; the vDSO, whose entries are none, has no relocations.
                let entry = unsafe { std::ptr::with_exposed_provenance::<libc::Elf64_Rela>(place).read() };
                let number = (entry.r_info >> 32) as usize;
                if number != 0 {
                    let symbol = self.symbols + number * size_of::<libc::Elf64_Sym>();
                    // SAFETY: a relocation's number is one of the table of symbols, and a symbol's name in that of
                    // names.
                    visit(unsafe {
                        let symbol = std::ptr::with_exposed_provenance::<libc::Elf64_Sym>(symbol).read();
                        let name = std::ptr::with_exposed_provenance(self.names + symbol.st_name as usize);
                        CStr::from_ptr(name).to_bytes()
                    });
                }
            }
        }
    }
}
