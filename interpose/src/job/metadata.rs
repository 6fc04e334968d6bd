//! The metadata of the run: the experimental factors (Hunold & Carpen-Amarie 2016, table VI), as far as they can be
//! seen from inside the program.

use std::path::Path;

use mpitrace_format::algorithms::VISIBLE;
use mpitrace_format::layout::abi as family;
use mpitrace_format::metadata::{Metadata, STARTED_NS, UNKNOWN};
use mpitrace_platform::time::raw_ns_of_start;

use crate::base::batch::{self, Factor};
use crate::base::process::Process;
use crate::base::symbol::Symbol;
use crate::base::{first_on_node, own_file, system};
use crate::call_sites::call_site::file_of;
use crate::counters::mpi_t::control;
use crate::job::launcher::process_above;
use crate::job::settings::Settings;
use crate::mpi::{self, abi};
use crate::recorder::algorithms;

/// Variables of the environment that steer MPI libraries and their transports.
const TUNING: [&str; 14] = [
    "OMPI_MCA_",
    "PMIX_MCA_",
    "PRTE_MCA_",
    "MPICH_",
    "MPIR_CVAR_",
    "I_MPI_",
    "MV2_",
    "MVP_",
    "FI_",
    "UCX_",
    "PSM2_",
    "PSM3_",
    "OMP_",
    "HYDRA_",
];
/// Variables among these that the launcher sets by itself to talk to its ranks.
const PLUMBING: [&str; 7] = [
    "OMPI_MCA_orte_",
    "OMPI_MCA_ess",
    "OMPI_MCA_pmix",
    "I_MPI_INFO_",
    "HYDRA_BSTRAP",
    "I_MPI_HYDRA_UUID",
    "OMPI_MCA_PREFIXES",
];

static INIT: Symbol = Symbol::new();

/// Everything that is recorded of a rank. What is the same for all ranks is kept by rank 0 alone. `has_world`:
/// MPI_COMM_WORLD can be used.
pub fn all(settings: &Settings, first: bool, has_world: bool) -> Metadata {
    let visible = algorithms::start();
    let mut metadata = Metadata::new();
    let mut add = |name: &str, value: Option<String>| add_to(&mut metadata, name, value);
    add("host", Some(system::host()));
    add("affinity", affinity());
    let cpufreq = cpufreq(Path::new("/sys/devices/system/cpu"), system::processor());
    // Few virtual machines have it.
    if let Some(khz) = cpufreq.current {
        add("frequency_khz", Some(khz.to_string()));
    }
    add("command", command_of("self", settings.has_arguments));
    add(STARTED_NS, Process::read(std::process::id()).and_then(|own| Some(raw_ns_of_start(own.started)?.to_string())));
    // One rank of each node has these, so that they survive the death of a node.
    let first_here = first_on_node::is_first("metadata");
    if first || first_here {
        for (name, factor) in [
            ("batch_system", Factor::System),
            ("job", Factor::Job),
            ("job_step", Factor::Step),
            ("job_array_index", Factor::ArrayIndex),
            ("job_restarts", Factor::Restart),
            ("job_nodes", Factor::Nodes),
        ] {
            if let Some(value) = batch::value(factor) {
                add(name, Some(value));
            }
        }
    }
    if !first {
        return metadata;
    }
    add("start_time", Some(system::local_time(settings.started, c"%Y-%m-%dT%H:%M:%S%z")));
    add("library", mpi::library_version().map(|version| version.lines().next().unwrap_or_default().to_owned()));
    // SAFETY: it reads a value that the kernel has given to the process.
    let entry = unsafe { libc::getauxval(libc::AT_ENTRY) };
    for (name, id, address) in [
        ("program_file", "program_build_id", Some(entry as usize)),
        ("library_file", "library_build_id", INIT.get(c"PMPI_Init").map(|init| init.addr())),
    ] {
        let (file, build_id) = address.and_then(file_of).unzip();
        add(name, file);
        // A file need not have one.
        if let Some(build_id) = build_id.filter(|build_id| !build_id.is_empty()) {
            add(id, Some(build_id));
        }
    }
    add("abi", Some(abi_name().to_owned()));
    let version = mpi::library_version().unwrap_or_default();
    add("compiler", line_of(&version, &["MPICH CC:", "CC:"]));
    add("compiler_flags", line_of(&version, &["MPICH configure:", "Configure:"]));
    add("network", network(&version));
    add("thread_level", thread_level());
    // Not with sessions alone: see mpi_t::planning.
    add("collective_algorithms", if has_world { control::algorithms(!settings.pvars.is_empty()) } else { None });
    add(VISIBLE, Some(visible));
    add("launcher", launcher(settings.has_arguments));
    add("cache_control", None);
    add("cpu_model", line_of(&read("/proc/cpuinfo"), &["model name\t:", "Model\t\t:"]));
    add("processors", processors(&read("/proc/cpuinfo")));
    add(
        "distribution",
        line_of(&read("/etc/os-release"), &["PRETTY_NAME="]).map(|name| name.trim_matches('"').to_owned()),
    );
    add("governor", Some(read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")));
    add("turbo", turbo());
    add("frequency_limits_khz", cpufreq.limits.map(|[least, most]| format!("{least}-{most}")));
    add("tsc_flags", tsc_flags());
    add("clocksource", Some(read("/sys/devices/system/clocksource/clocksource0/current_clocksource")));
    add("kernel", Some(read("/proc/sys/kernel/osrelease")));
    add("perf_event_paranoid", Some(read("/proc/sys/kernel/perf_event_paranoid")));
    add("capacity", Some(settings.capacity.to_string()));
    let mut variables = Metadata::new();
    for (name, value) in std::env::vars_os() {
        let variable = (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned());
        if is_recorded(&variable.0, settings.environment.as_deref()) {
            // Put in its place: the code that sorts pairs of texts would be larger than all of this.
            variables.insert(variables.partition_point(|known| *known < variable), variable);
        }
    }
    for (name, value) in variables {
        add(&format!("env.{name}"), Some(value));
    }
    metadata
}

#[inline(never)]
fn add_to(metadata: &mut Metadata, name: &str, value: Option<String>) {
    metadata.push((name.to_owned(), value.filter(|value| !value.is_empty()).unwrap_or_else(|| UNKNOWN.to_owned())));
}

/// True if a variable of the environment is recorded. `chosen` has names, and beginnings of names with a `*` behind
/// them; without it those are recorded that steer the tracer, the MPI library or its transports.
fn is_recorded(name: &str, chosen: Option<&[String]>) -> bool {
    if let Some(chosen) = chosen {
        let is_it = |known: &String| match known.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == known,
        };
        return chosen.iter().any(is_it);
    }
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    name.starts_with("MPITRACE_") && name != "MPITRACE_RUN"
        || name == "LD_PRELOAD"
        || starts(&TUNING) && !starts(&PLUMBING)
}

#[inline(never)]
fn read(path: &str) -> String {
    own_file::read_text(path).map(|text| text.trim_end().to_owned()).unwrap_or_default()
}

/// The rest behind the first of these beginnings that a line has.
fn line_of(text: &str, beginnings: &[&str]) -> Option<String> {
    beginnings.iter().find_map(|beginning| {
        text.lines().find_map(|line| line.trim_start().strip_prefix(beginning)).map(|rest| rest.trim().to_owned())
    })
}

/// The frequencies of a processor that the kernel states, kHz (Hunold & Carpen-Amarie 2016, 5.7).
#[derive(Debug, Default, PartialEq)]
struct Frequencies {
    current: Option<u32>,
    /// The least and the largest frequency that the governor may choose.
    limits: Option<[u32; 2]>,
}

#[inline(never)]
fn cpufreq(folder: &Path, processor: u32) -> Frequencies {
    let of = |name: &str| {
        let text = own_file::read_text(folder.join(format!("cpu{processor}/cpufreq/scaling_{name}_freq"))).ok()?;
        text.trim().parse().ok().filter(|khz| *khz > 0)
    };
    Frequencies { current: of("cur"), limits: of("min").zip(of("max")).map(|(least, most)| [least, most]) }
}

/// The processors that this process may run on, as `taskset` prints them.
fn affinity() -> Option<String> {
    line_of(&read("/proc/self/status"), &["Cpus_allowed_list:"])
}

/// The command line of a process, `self` or a number; without its arguments: the first word, the program.
fn command_of(process: &str, has_arguments: bool) -> Option<String> {
    let line = own_file::read(format!("/proc/{process}/cmdline")).ok()?;
    let most = if has_arguments { usize::MAX } else { 1 };
    let words: Vec<_> = line.split(|&byte| byte == 0).take(most).map(String::from_utf8_lossy).collect();
    let text = words.join(" ");
    // A command line of megabytes is not a factor.
    Some(text.trim_end().chars().take(4096).collect())
}

fn abi_name() -> &'static str {
    match abi::get().family {
        family::OPENMPI => "openmpi",
        family::MPICH => "mpich",
        _ => "standard",
    }
}

fn thread_level() -> Option<String> {
    let level = mpi::thread_level()?;
    // 0 to 3 in all families but the standard, which counts 0, 1024, 2048, 4096.
    let names = ["MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"];
    let index = match level {
        0..=3 => level as usize,
        1024 => 1,
        2048 => 2,
        4096 => 3,
        _ => return None,
    };
    Some(names[index].to_owned())
}

/// `2 sockets, 64 cores, 128 hardware threads`, as far as the kernel states them.
fn processors(cpuinfo: &str) -> Option<String> {
    let of = |name: &str| cpuinfo.lines().filter(|line| line.starts_with(name)).collect::<Vec<_>>();
    let (threads, sockets, cores) = (of("processor\t"), of("physical id\t"), of("core id\t"));
    let distinct = |others: &[&str]| {
        let mut known: Vec<(&str, &str)> = Vec::new();
        for pair in sockets.iter().copied().zip(others.iter().copied()) {
            if !known.contains(&pair) {
                known.push(pair);
            }
        }
        known.len()
    };
    let (of_sockets, of_cores) = (distinct(&sockets), distinct(&cores));
    let count = |number: usize, noun: &str| format!("{number} {noun}{}", if number == 1 { "" } else { "s" });
    let known = match of_cores {
        0 => String::new(),
        _ => format!("{}, {}, ", count(of_sockets, "socket"), count(of_cores, "core")),
    };
    (!threads.is_empty()).then(|| known + &count(threads.len(), "hardware thread"))
}

/// The network devices that are up, fast ones first by name, with their rates where they state them; the MPI library's
/// own word where it gives one.
fn network(version: &str) -> Option<String> {
    if let Some(device) = line_of(version, &["MPICH Device:"]) {
        return Some(device);
    }
    let names = |folder: &str| -> Vec<String> {
        let names = own_file::names_in(Path::new(folder)).unwrap_or_default();
        names.iter().map(|name| name.to_string_lossy().into_owned()).collect()
    };
    let with_rate = |name: &String, rate: String, unit: &str| match rate.trim() {
        "" | "-1" => name.clone(),
        rate => format!("{name} ({rate}{unit})"),
    };
    let infiniband = names("/sys/class/infiniband");
    let rate = |name: &String| with_rate(name, read(&format!("/sys/class/infiniband/{name}/ports/1/rate")), "");
    let mut devices: Vec<String> = infiniband.iter().map(rate).collect();
    devices.extend(names("/sys/class/cxi"));
    let mut others = names("/sys/class/net");
    others.retain(|name| name != "lo" && read(&format!("/sys/class/net/{name}/operstate")) != "down");
    let rate = |name: &String| with_rate(name, read(&format!("/sys/class/net/{name}/speed")), " Mb/s");
    devices.extend(others.iter().map(rate));
    (!devices.is_empty()).then(|| devices.join(" "))
}

/// The first process above this one that starts MPI programs, with its arguments.
fn launcher(has_arguments: bool) -> Option<String> {
    let names = ["mpirun", "mpiexec", "orterun", "prterun", "srun", "prun", "aprun", "jsrun"];
    command_of(&process_above(&names)?.to_string(), has_arguments)
}

fn turbo() -> Option<String> {
    let boost = read("/sys/devices/system/cpu/cpufreq/boost");
    let no_turbo = read("/sys/devices/system/cpu/intel_pstate/no_turbo");
    match (boost.as_str(), no_turbo.as_str()) {
        ("1", _) | (_, "0") => Some("on".to_owned()),
        ("0", _) | (_, "1") => Some("off".to_owned()),
        _ => None,
    }
}

fn tsc_flags() -> Option<String> {
    let flags = line_of(&read("/proc/cpuinfo"), &["flags\t\t:"])?;
    let of_clock: Vec<_> = flags.split(' ').filter(|flag| flag.contains("tsc") || *flag == "art").collect();
    Some(of_clock.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_chosen_by_name_or_beginning() {
        let chosen = ["UCX_TLS".to_owned(), "OMP_*".to_owned()];
        let is = |name| is_recorded(name, Some(&chosen));
        assert_eq!(["UCX_TLS", "OMP_PLACES", "UCX_TLSX", "MPITRACE_OUTPUT"].map(is), [true, true, false, false]);
        assert!(!is_recorded("UCX_TLS", Some(&[])));
        let usual = |name| is_recorded(name, None);
        assert_eq!(["UCX_TLS", "HOME", "OMPI_MCA_ess_base", "LD_PRELOAD"].map(usual), [true, false, false, true]);
    }

    #[test]
    fn sockets_and_cores_are_counted_once() {
        let processor = |number: u32, socket: u32, core: u32| {
            format!("processor\t: {number}\nphysical id\t: {socket}\ncore id\t\t: {core}\n\n")
        };
        let all: String = (0..8).map(|number| processor(number, number / 4, number % 2)).collect();
        assert_eq!(processors(&all).as_deref(), Some("2 sockets, 4 cores, 8 hardware threads"));
        assert_eq!(processors(&processor(0, 0, 0)).as_deref(), Some("1 socket, 1 core, 1 hardware thread"));
        assert_eq!(processors("processor\t: 0\nprocessor\t: 1\n").as_deref(), Some("2 hardware threads"));
        assert_eq!(processors(""), None);
    }

    #[test]
    fn the_kernels_frequencies_are_read_where_there_are_some() {
        let folder = std::env::temp_dir().join(format!("mpitrace-frequency-{}", std::process::id()));
        let place = folder.join("cpu5/cpufreq");
        std::fs::create_dir_all(&place).unwrap();
        let write = |name: &str, text: &str| std::fs::write(place.join(format!("scaling_{name}_freq")), text).unwrap();
        write("cur", "2300000\n");
        write("min", "800000\n");
        assert_eq!(cpufreq(&folder, 5), Frequencies { current: Some(2_300_000), limits: None });
        write("max", "3100000\n");
        assert_eq!(cpufreq(&folder, 5).limits, Some([800_000, 3_100_000]));
        for text in ["0", "", "<unknown>"] {
            write("cur", text);
            assert_eq!(cpufreq(&folder, 5).current, None, "{text}");
        }
        assert_eq!(cpufreq(&folder, 6), Frequencies::default());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
