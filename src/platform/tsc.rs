//! When a processor's time stamp counter is one clock for all ranks of a machine.

/// Flags of the processor without which its time stamp counter is not one clock, and `rdtscp` not there.
pub const FLAGS: [&str; 3] = ["constant_tsc", "nonstop_tsc", "rdtscp"];

/// True if the counter can be trusted. The processor has all [`FLAGS`], and the kernel has kept it.
///
/// The kernel has tested the TSC against other clocks and across processors, and takes one that it found unstable off
/// its list.
pub fn is_trusted() -> bool {
    let flags = processor_flags();
    let available = available_sources();
    let kept = available.is_empty() || available.iter().any(|name| name == "tsc");
    cfg!(target_arch = "x86_64") && kept && FLAGS.iter().all(|flag| flags.iter().any(|known| known == flag))
}

/// The clock sources that the kernel offers.
fn available_sources() -> Vec<String> {
    words(std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/available_clocksource").as_deref())
}

/// The flags of the first processor.
pub fn processor_flags() -> Vec<String> {
    let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    words(processors.lines().find(|line| line.starts_with("flags")).ok_or(()))
}

fn words<E>(text: Result<&str, E>) -> Vec<String> {
    text.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}
