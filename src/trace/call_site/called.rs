//! The function that a call is for, by the code before its return address.
//!
//! A function of a library may leave its work to another function by a jump, and is then on no stack: `PMPI_Finalize`
//! of Open MPI 4 jumps to `ompi_mpi_finalize`. The caller's code still names it. The call leads to an entry that the
//! linker made, the entry reads an address, and a relocation has the name of the function with this address.

use std::fs::File;
use std::path::Path;

use object::{Architecture, Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, ReadCache, RelocationTarget};

/// The name of the function of another module that the call before this return address is for. The address is that in
/// the module's file. `None`: the function is in the same module, its address is in a register, or the file cannot be
/// read.
///
/// ```
/// use std::path::Path;
///
/// use mpitrace_trace::call_site::called;
///
/// assert_eq!(called(Path::new("/nowhere"), 0x1000), None);
/// ```
pub fn called(module: &Path, return_address: u64) -> Option<String> {
    let cache = ReadCache::new(File::open(module).ok()?);
    let file = object::File::parse(&cache).ok()?;
    let code = |address: u64, length: u64| {
        let holds = |start: u64, size: u64| start <= address && address.saturating_add(length) <= start + size;
        let section = file.sections().find(|section| holds(section.address(), section.size()))?;
        section.data_range(address, length).ok().flatten()
    };
    let read_from = match file.architecture() {
        Architecture::X86_64 => x86_64(return_address, code),
        Architecture::Aarch64 => aarch64(return_address, code),
        _ => None,
    }?;
    let (_, relocation) = file.dynamic_relocations()?.find(|(address, _)| *address == read_from)?;
    let RelocationTarget::Symbol(index) = relocation.target() else { return None };
    let symbol = file.dynamic_symbol_table()?.symbol_by_index(index).ok()?;
    symbol.name().ok().filter(|name| !name.is_empty()).map(str::to_owned)
}

/// The address at a signed distance from another one.
fn address_from(from: u64, distance: &[u8]) -> Option<u64> {
    Some(from.wrapping_add_signed(i32::from_le_bytes(distance.try_into().ok()?).into()))
}

/// Where the address of the function is read from: by the call itself (`call *x(%rip)`), or by the entry that it leads
/// to (`jmp *x(%rip)`).
fn x86_64<'c>(return_address: u64, code: impl Fn(u64, u64) -> Option<&'c [u8]>) -> Option<u64> {
    if let Some([0xff, 0x15, distance @ ..]) = code(return_address.checked_sub(6)?, 6) {
        return address_from(return_address, distance);
    }
    let [0xe8, distance @ ..] = code(return_address - 5, 5)? else { return None };
    let mut entry = address_from(return_address, distance)?;
    // A mark for indirect jumps (`endbr64`), and a prefix of those whose bounds are checked.
    entry += if code(entry, 4)? == [0xf3, 0x0f, 0x1e, 0xfa] { 4 } else { 0 };
    entry += u64::from(code(entry, 1)? == [0xf2]);
    let [0xff, 0x25, distance @ ..] = code(entry, 6)? else { return None };
    address_from(entry + 6, distance)
}

/// Where the entry that a call (`bl`) leads to reads the address of the function from: `adrp` has the page, `ldr` the
/// place within it.
fn aarch64<'c>(return_address: u64, code: impl Fn(u64, u64) -> Option<&'c [u8]>) -> Option<u64> {
    let word = |address: u64| Some(u32::from_le_bytes(code(address, 4)?.try_into().ok()?));
    let signed = |value: u32, bits: u32| i64::from((value << (32 - bits)).cast_signed() >> (32 - bits));
    let call_at = return_address.checked_sub(4)?;
    let call = word(call_at)?;
    if call >> 26 != 0x25 {
        return None;
    }
    let mut entry = call_at.wrapping_add_signed(4 * signed(call & 0x03ff_ffff, 26));
    // A mark for indirect jumps (`bti c`).
    entry += if word(entry)? == 0xd503_245f { 4 } else { 0 };
    let (page, load) = (word(entry)?, word(entry + 4)?);
    if page & 0x9f00_0000 != 0x9000_0000 || load & 0xffc0_0000 != 0xf940_0000 {
        return None;
    }
    let pages = signed((page >> 5 & 0x7_ffff) << 2 | page >> 29 & 3, 21);
    Some((entry & !0xfff).wrapping_add_signed(pages << 12) + u64::from(load >> 10 & 0xfff) * 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of a made-up module of which nothing lies at other addresses.
    fn within<'c>(start: u64, bytes: &'c [u8]) -> impl Fn(u64, u64) -> Option<&'c [u8]> {
        move |address, length| bytes.get(address.checked_sub(start)? as usize..)?.get(..length as usize)
    }

    #[test]
    fn calls_of_arm64_lead_to_the_place_of_the_address() {
        // 0x1000: bl 0x1008; 0x1008: bti c; adrp x16, 0x11000; ldr x17, [x16, #0x28]
        let words = [0x9400_0002_u32, 0, 0xd503_245f, 0x9000_0090, 0xf940_1611];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(aarch64(0x1004, within(0x1000, &bytes)), Some(0x1_1028));
        assert_eq!(aarch64(0x1008, within(0x1000, &bytes)), None, "no call");
        // 0x1010: bl 0x1008, backwards.
        let words = [0x9000_0090_u32, 0xf940_1611, 0x97ff_fffe];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(aarch64(0x1014, within(0x1008, &bytes)), Some(0x1_1028));
    }
}
