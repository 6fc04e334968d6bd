//! From the registers and the stack of a thread to the addresses that it returns to, by the tables of the mapped files.

use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use framehop::{ExplicitModuleSectionInfo, FrameAddress, Module, Unwinder};
use object::{Object, ObjectSection, ObjectSegment, ReadCache, ReadRef};

#[cfg(target_arch = "aarch64")]
use framehop::aarch64::{CacheAarch64 as Cache, PtrAuthMask, UnwindRegsAarch64, UnwinderAarch64 as Native};
#[cfg(not(target_arch = "aarch64"))]
use framehop::x86_64::{CacheX86_64 as Cache, UnwindRegsX86_64, UnwinderX86_64 as Native};

use super::capture::{Registers, Thread};
use super::memory::{Map, Memory};

/// The kernel's code in each process, which is the same in all of them.
const VDSO: &str = "[vdso]";
/// No more frames of a stack.
const DEEPEST: usize = 4096;

/// The code of a file.
#[derive(Clone)]
struct Code {
    /// Segments of code: the place in the file, and the address that the file gives it.
    segments: Vec<(Range<u64>, u64)>,
    frames: Option<(Range<u64>, Arc<[u8]>)>,
    index: Option<(Range<u64>, Arc<[u8]>)>,
}

/// A place in the code of a process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CodePlace {
    /// The file, as the process has it.
    pub module: Arc<str>,
    /// The address behind the call, as the file numbers it.
    pub offset: u64,
}

/// Reads the tables of files, each once.
#[derive(Default)]
pub struct Stacks {
    files: HashMap<String, Option<Code>>,
}

/// Unwinds the stacks of a process.
pub struct Unwind {
    unwinder: Native<Arc<[u8]>>,
    cache: Cache,
    /// The ranges that are mapped, what the addresses of each are shifted by, and the file.
    modules: Vec<(Range<u64>, u64, Arc<str>)>,
}

impl Unwind {
    /// The places of a thread, the innermost first, by its registers and the bytes from the address `start` on.
    pub fn places(&mut self, registers: Registers, start: u64, stack: &[u8]) -> Vec<CodePlace> {
        let mut places = Vec::new();
        self.frames(registers, start, stack, |place, _, _| places.push(place));
        places
    }

    /// The frames, each with its address and the bytes of its frame, as far as they are known.
    pub fn frames(
        &mut self,
        registers: Registers,
        start: u64,
        stack: &[u8],
        mut take: impl FnMut(CodePlace, u64, &[u8]),
    ) {
        let mut read = |address: u64| {
            let first = usize::try_from(address.checked_sub(start).ok_or(())?).map_err(drop)?;
            let word = stack.get(first..).and_then(<[u8]>::first_chunk).ok_or(())?;
            Ok(u64::from_ne_bytes(*word))
        };
        let within = |address: u64| usize::try_from(address.saturating_sub(start)).map_or(0, |at| at.min(stack.len()));
        let mut native = native(registers);
        let mut frame = FrameAddress::from_instruction_pointer(registers.pc);
        for _ in 0..DEEPEST {
            let behind = match frame {
                FrameAddress::InstructionPointer(address) => address + 1,
                FrameAddress::ReturnAddress(address) => address.get(),
            };
            let module = self.modules.iter().find(|(range, _, _)| range.contains(&(behind - 1)));
            let Some((_, bias, path)) = module else { return };
            let place = CodePlace { module: path.clone(), offset: behind.wrapping_sub(*bias) };
            let first = within(native.sp());
            let next = self.unwinder.unwind_frame(frame, &mut native, &mut self.cache, &mut read);
            take(place, behind - 1, stack.get(first..within(native.sp())).unwrap_or_default());
            match next.ok().flatten().and_then(FrameAddress::from_return_address) {
                Some(next) => frame = next,
                None => return,
            }
        }
    }
}

impl Stacks {
    /// The places of a thread, the innermost first. `root` is put before the names of the files.
    pub fn unwind(&mut self, thread: &Thread, maps: &[Map], root: &str) -> Vec<CodePlace> {
        self.of_process(maps, root).places(thread.registers, thread.start, &thread.stack)
    }

    /// For a process with these maps. `root` is put before the names of the files.
    pub fn of_process(&mut self, maps: &[Map], root: &str) -> Unwind {
        let mut unwinder: Native<Arc<[u8]>> = Native::new();
        let mut modules: Vec<(Range<u64>, u64, Arc<str>)> = Vec::new();
        for map in maps {
            let Some((bias, code)) = self.code_at(map, root) else { continue };
            modules.push((map.range.clone(), bias, format!("{root}{}", map.path).into()));
            let (frames, index) = (code.frames.clone(), code.index.clone());
            let sections = ExplicitModuleSectionInfo {
                eh_frame_svma: frames.as_ref().map(|(range, _)| range.clone()),
                eh_frame: frames.map(|(_, bytes)| bytes),
                eh_frame_hdr_svma: index.as_ref().map(|(range, _)| range.clone()),
                eh_frame_hdr: index.map(|(_, bytes)| bytes),
                ..ExplicitModuleSectionInfo::default()
            };
            unwinder.add_module(Module::new(map.path.clone(), map.range.clone(), bias, sections));
        }
        Unwind { unwinder, cache: Cache::new(), modules }
    }

    /// The code of a file that is mapped there, and what its addresses are shifted by; `None`: no code.
    fn code_at(&mut self, map: &Map, root: &str) -> Option<(u64, &Code)> {
        if !map.path.starts_with('/') && map.path != VDSO {
            return None;
        }
        let path = format!("{root}{}", map.path);
        let code = self.files.entry(path).or_insert_with_key(|path| match map.path == VDSO {
            true => own_vdso(),
            false => Code::parse(&ReadCache::new(File::open(path).ok()?)),
        });
        let code = code.as_ref()?;
        let (file, address) = code.segments.iter().find(|(file, _)| {
            // Whole pages are mapped.
            file.start < map.offset + (map.range.end - map.range.start) && map.offset < file.end
        })?;
        Some((map.range.start.wrapping_sub(map.offset).wrapping_add(file.start).wrapping_sub(*address), code))
    }
}

fn native(registers: Registers) -> NativeRegisters {
    let Registers { sp, fp, .. } = registers;
    #[cfg(target_arch = "aarch64")]
    // The bits above an address of a process may sign it.
    return UnwindRegsAarch64::new_with_ptr_auth_mask(
        PtrAuthMask::from_max_known_address(1 << 47),
        registers.lr,
        sp,
        fp,
    );
    #[cfg(not(target_arch = "aarch64"))]
    UnwindRegsX86_64::new(registers.pc, sp, fp)
}

#[cfg(target_arch = "aarch64")]
type NativeRegisters = UnwindRegsAarch64;
#[cfg(not(target_arch = "aarch64"))]
type NativeRegisters = UnwindRegsX86_64;

fn own_vdso() -> Option<Code> {
    let own = Memory { pid: std::process::id() };
    let map = own.maps().into_iter().find(|map| map.path == VDSO)?;
    Code::parse(&own.read(map.range.start, (map.range.end - map.range.start) as usize)?[..])
}

impl Code {
    fn parse<'a>(data: impl ReadRef<'a>) -> Option<Code> {
        let object = object::File::parse(data).ok()?;
        let section = |name: &str| {
            let section = object.section_by_name(name)?;
            let bytes: Arc<[u8]> = section.uncompressed_data().ok()?.as_ref().into();
            Some((section.address()..section.address() + bytes.len() as u64, bytes))
        };
        let code = object.segments().filter(|segment| segment.permissions().executable()).map(|segment| {
            let (offset, length) = segment.file_range();
            (offset..offset.saturating_add(length), segment.address())
        });
        Some(Code { segments: code.collect(), frames: section(".eh_frame"), index: section(".eh_frame_hdr") })
    }
}
