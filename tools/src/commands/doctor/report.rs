//! `doctor --report`: one file with what a developer of mpitrace has to know of a machine that is not at hand.
//!
//! It begins with text for people, and ends with the same as JSON. The values of environment variables are not in it,
//! and names that lead to a person or a machine are replaced.

use std::env;
use std::ffi::CStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;

use super::facts::Facts;
use crate::commands::overhead::{self, Costs};
use crate::output::Style;
use crate::report::file::create;
use crate::text;

/// The line before the JSON.
const JSON: &str = "--- JSON ---";

/// The variables of which the report says whether they are set: those by which launchers, batch systems, MPI libraries,
/// modules and containers change what a rank does.
const VARIABLES: [&str; 48] = [
    "SLURM_JOB_ID",
    "SLURM_JOB_NUM_NODES",
    "SLURM_MPI_TYPE",
    "SLURM_CPU_BIND",
    "SLURM_EXPORT_ENV",
    "PBS_JOBID",
    "PBS_NODEFILE",
    "LSB_JOBID",
    "LSB_MCPU_HOSTS",
    "FLUX_JOB_ID",
    "FLUX_URI",
    "OAR_JOB_ID",
    "PE_HOSTFILE",
    "PALS_RANKID",
    "PMI_RANK",
    "PMI_FD",
    "PMIX_NAMESPACE",
    "PMIX_RANK",
    "OMPI_COMM_WORLD_RANK",
    "MPI_LOCALRANKID",
    "OMPI_MCA_pml",
    "OMPI_MCA_btl",
    "OMPI_MCA_coll",
    "OMPI_MCA_mtl",
    "I_MPI_ROOT",
    "I_MPI_FABRICS",
    "I_MPI_HYDRA_BOOTSTRAP",
    "I_MPI_PMI_LIBRARY",
    "MPIR_CVAR_CH4_NETMOD",
    "MPICH_OFI_NIC_POLICY",
    "MV2_USE_CUDA",
    "UCX_TLS",
    "UCX_NET_DEVICES",
    "FI_PROVIDER",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "GLIBC_TUNABLES",
    "TMPDIR",
    "OMP_NUM_THREADS",
    "LOADEDMODULES",
    "LMOD_CMD",
    "CRAYPE_VERSION",
    "PE_ENV",
    "APPTAINER_CONTAINER",
    "SINGULARITY_CONTAINER",
    "CONDA_PREFIX",
    "VIRTUAL_ENV",
];

/// The report.
#[derive(Debug, Serialize)]
struct Report<'f> {
    /// The version of this program.
    mpitrace: &'static str,
    system: System,
    /// Those of [`VARIABLES`] that are set.
    variables: Vec<&'static str>,
    /// What `doctor --json` prints.
    doctor: &'f Facts,
    /// What `overhead --json` prints; null: it could not be measured.
    overhead: Option<Costs>,
    /// Why not.
    overhead_problem: Option<String>,
}

/// The system.
#[derive(Debug, Default, Serialize)]
struct System {
    /// The distribution.
    name: Option<String>,
    kernel: Option<String>,
    architecture: &'static str,
    c_library: Option<String>,
    processor: Option<String>,
    /// How many processors this process may run on.
    processors: Option<usize>,
    numa_nodes: Option<usize>,
    memory_bytes: Option<u64>,
    /// Whether it is a virtual machine; null: the processor does not say it.
    hypervisor: Option<bool>,
    /// Whether it is in a container.
    container: bool,
    /// The network devices that MPI libraries may use, by the kernel's names of their drivers: `mlx5_0`, `hsn0`.
    network: Vec<String>,
}

/// Writes the report, to standard output where the file is `-`.
///
/// # Errors
/// The file cannot be written.
pub fn write(facts: &Facts, path: &Path, output: &mut dyn Write) -> Result<()> {
    let measured = measure(facts);
    let (overhead, overhead_problem) = match measured {
        Ok(costs) => (Some(costs), None),
        Err(error) => (None, Some(format!("{error:#}"))),
    };
    let variables = VARIABLES.into_iter().filter(|name| env::var_os(name).is_some()).collect();
    let report = Report {
        mpitrace: env!("CARGO_PKG_VERSION"),
        system: System::of_machine(),
        variables,
        doctor: facts,
        overhead,
        overhead_problem,
    };
    let text = Names::of(facts).replaced(&report.text()?);
    if path == Path::new("-") {
        output.write_all(text.as_bytes())?;
        return Ok(());
    }
    let written = create(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("cannot write {}", path.display()))?;
    eprintln!("mpitrace: wrote {}: read it before you send it", path.display());
    Ok(())
}

/// What tracing costs under the first MPI library of which calls are traced.
fn measure(facts: &Facts) -> Result<Costs> {
    let tracer = facts.tracer.as_ref().context("no tracer")?;
    let traced = facts.mpi.iter().filter(|mpi| mpi.traced == Some(true));
    let libraries: Vec<PathBuf> = traced.map(|mpi| mpi.installed.path.clone()).take(1).collect();
    anyhow::ensure!(!libraries.is_empty(), "calls of no MPI library are traced without a launcher");
    overhead::costs(tracer.as_os_str(), &libraries, &[], &[])
}

impl Report<'_> {
    fn text(&self) -> Result<String> {
        let mut text = Vec::new();
        writeln!(text, "Report of mpitrace {} doctor. Names of hosts and users are replaced.\n", self.mpitrace)?;
        for (title, line) in self.system.lines() {
            writeln!(text, "{title:11} {}", text::printable(&line))?;
        }
        let set = if self.variables.is_empty() { "none".to_owned() } else { self.variables.join(", ") };
        writeln!(text, "{:11} {set}\n", "set")?;
        super::page::write(self.doctor, &mut text, Style::Plain)?;
        match (&self.overhead, &self.overhead_problem) {
            (Some(costs), _) => writeln!(
                text,
                "overhead    {:.1} ns a call, {:.2} pairs of time stamps of {:.1} ns",
                costs.traced_call_ns, costs.ratio, costs.timestamp_pair_ns
            )?,
            (None, problem) => writeln!(text, "overhead    not measured: {}", problem.as_deref().unwrap_or_default())?,
        }
        writeln!(text, "\n{JSON}")?;
        crate::output::json(&mut text, "doctor-report", self)?;
        Ok(String::from_utf8(text)?)
    }
}

impl System {
    fn of_machine() -> System {
        let read = |path: &str| fs::read_to_string(path).ok();
        let value = |path: &str, key: &str, between: char| {
            let text = read(path)?;
            let mut pairs = text.lines().filter_map(|line| line.split_once(between));
            let value = pairs.find(|(name, _)| name.trim() == key)?.1;
            Some(value.trim().trim_matches('"').to_owned())
        };
        let cpu = |key: &str| value("/proc/cpuinfo", key, ':');
        let entries = |path: &str| -> Vec<String> {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            let mut names: Vec<String> =
                entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
            names.sort();
            names
        };
        let memory = value("/proc/meminfo", "MemTotal", ':').and_then(|text| text.strip_suffix(" kB")?.parse().ok());
        let is_node = |name: &String| name.strip_prefix("node").is_some_and(|rest| rest.parse::<u32>().is_ok());
        let mut network = entries("/sys/class/infiniband");
        network.extend(entries("/sys/class/cxi"));
        network.extend(entries("/sys/class/net").into_iter().filter(|name| name != "lo"));
        System {
            name: value("/etc/os-release", "PRETTY_NAME", '='),
            kernel: read("/proc/sys/kernel/osrelease").map(|text| text.trim().to_owned()),
            architecture: env::consts::ARCH,
            c_library: c_library(),
            processor: cpu("model name").or_else(|| cpu("Model")),
            processors: std::thread::available_parallelism().ok().map(usize::from),
            numa_nodes: Some(entries("/sys/devices/system/node").iter().filter(|name| is_node(name)).count())
                .filter(|&count| count > 0),
            memory_bytes: memory.map(|kib: u64| 1024 * kib),
            hypervisor: cpu("flags").map(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
            container: ["/.dockerenv", "/run/.containerenv", "/.singularity.d"]
                .iter()
                .any(|path| Path::new(path).exists()),
            network,
        }
    }

    fn lines(&self) -> Vec<(&'static str, String)> {
        /// Bytes of a GiB.
        const GIB: f64 = 1_073_741_824.0;
        let unknown = || "unknown".to_owned();
        let count = |count: Option<usize>| count.map_or_else(unknown, |count| count.to_string());
        let virtual_machine = match self.hypervisor {
            Some(true) => ", a virtual machine",
            _ => "",
        };
        let container = if self.container { ", in a container" } else { "" };
        vec![
            ("system", format!("{}{virtual_machine}{container}", self.name.clone().unwrap_or_else(unknown))),
            ("kernel", format!("{} ({})", self.kernel.clone().unwrap_or_else(unknown), self.architecture)),
            ("C library", self.c_library.clone().unwrap_or_else(unknown)),
            ("processor", self.processor.clone().unwrap_or_else(unknown)),
            ("processors", format!("{}; NUMA nodes: {}", count(self.processors), count(self.numa_nodes))),
            ("memory", self.memory_bytes.map_or_else(unknown, |bytes| format!("{:.1} GiB", bytes as f64 / GIB))),
            ("network", self.network.join(", ")),
        ]
    }
}

/// The C library's name and version.
fn c_library() -> Option<String> {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: glibc's function gives a C string that lives as long as the process.
        let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
        Some(format!("glibc {}", version.to_string_lossy()))
    }
    #[cfg(not(target_env = "gnu"))]
    None
}

/// Names that lead to a person or a machine, and what is written instead.
#[derive(Debug, Default)]
struct Names(Vec<(String, String)>);

impl Names {
    /// The user, the home folder, this host and the nodes of the allocation.
    fn of(facts: &Facts) -> Names {
        let mut names = Names::default();
        let variable = |name: &str| env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        names.add(variable("HOME").filter(|home| home.len() > 1), "~");
        for name in ["USER", "LOGNAME"] {
            // What root's files are called says nothing.
            names.add(variable(name).filter(|name| name != "root"), "USER");
        }
        let own = fs::read_to_string("/proc/sys/kernel/hostname").ok().map(|name| name.trim().to_owned());
        let allocation = facts.allocation.iter().flat_map(|allocation| &allocation.launchers);
        let hosts = allocation.flat_map(|tried| {
            let of_trace = tried.trace.iter().flat_map(|found| found.hosts.iter());
            tried.nodes.iter().map(|node| &node.host).chain(of_trace)
        });
        let mut hosts: Vec<String> = own.into_iter().chain(hosts.cloned()).collect();
        // Also without their domain.
        hosts.extend(hosts.clone().iter().filter_map(|host| Some(host.split_once('.')?.0.to_owned())));
        hosts.retain(|host| host != "localhost");
        let mut known: Vec<String> = Vec::new();
        for host in hosts {
            if !known.contains(&host) {
                known.push(host.clone());
                names.add(Some(host), &format!("host-{}", known.len()));
            }
        }
        // A long name before one that is a part of it.
        names.0.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        names
    }

    fn add(&mut self, name: Option<String>, instead: &str) {
        self.0.extend(name.filter(|name| !name.is_empty()).map(|name| (name, instead.to_owned())));
    }

    /// The text with other names, where a name is a whole word.
    fn replaced(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, instead) in &self.0 {
            text = replace_word(&text, name, instead);
        }
        text
    }
}

/// Replaces a word; letters, digits, `-` and `_` beside it make it a part of another one.
fn replace_word(text: &str, word: &str, instead: &str) -> String {
    let is_part = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || "-_".contains(letter));
    let mut replaced = String::with_capacity(text.len());
    let mut rest = 0;
    for (start, _) in text.match_indices(word) {
        let end = start + word.len();
        let is_word = !is_part(text[..start].chars().next_back()) && !is_part(text[end..].chars().next());
        if is_word && start >= rest {
            replaced.push_str(&text[rest..start]);
            replaced.push_str(instead);
            rest = end;
        }
    }
    replaced.push_str(&text[rest..]);
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_words_are_replaced() {
        assert_eq!(replace_word("/home/alice/alice-x alice alices", "alice", "USER"), "/home/USER/alice-x USER alices");
        assert_eq!(replace_word("login1, login1.site", "login1", "host-1"), "host-1, host-1.site");
        assert_eq!(replace_word("aaa", "a", "b"), "aaa");
    }

    #[test]
    fn the_variables_are_listed_once() {
        let mut names = VARIABLES.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), VARIABLES.len());
        // Of none of them a secret is the name.
        assert!(
            names.iter().all(|name| !["TOKEN", "KEY", "SECRET", "PASSWORD"].iter().any(|word| name.contains(word)))
        );
    }
}
