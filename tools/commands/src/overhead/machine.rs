//! The machine of a measurement: its processor, and the load on it before the measurement.

use std::fs;
use std::thread;
use std::time::Duration;

use serde::Serialize;

/// Other programs that use more than this share of the processors' time perturb the measurement.
const BUSY: f64 = 0.1;
/// For so long the load is looked at: the system counts in steps of 10 ms.
const LOOK: Duration = Duration::from_millis(300);
/// The key of the processor's name in /proc/cpuinfo: on x86-64, on some other processors.
const MODEL: [&str; 2] = ["model name", "Model"];

/// The processor, and other load on it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Machine {
    /// As the system names it.
    pub processor: Option<String>,
    /// The share of all processors' time that other programs and the hypervisor used; null where the system does not
    /// say.
    pub others_share: Option<f64>,
}

impl Machine {
    /// This machine, while this program does nothing.
    pub fn looked_at() -> Machine {
        let now = || fs::read_to_string("/proc/stat").ok().and_then(|stat| times(&stat));
        let before = now();
        thread::sleep(LOOK);
        Machine {
            processor: fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| model(&text)),
            others_share: before.zip(now()).and_then(|(before, now)| busy(before, now)),
        }
    }

    /// A warning about other load.
    pub fn warning(&self) -> Option<String> {
        let share = self.others_share.filter(|&share| share > BUSY)?;
        let percent = (100.0 * share).round();
        Some(format!("other programs use {percent} % of the processors: measure again on an idle machine"))
    }
}

/// Processor time since the system's start: all, and that in which no program ran. From the first line of /proc/stat:
/// user, nice, system, idle, iowait, irq, softirq, steal (proc(5)).
fn times(stat: &str) -> Option<(f64, f64)> {
    let words = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
    let times: Vec<f64> = words.map_while(|word| word.parse().ok()).take(8).collect();
    let [_, _, _, idle, waiting, ..] = times[..] else { return None };
    Some((times.iter().sum(), idle + waiting))
}

/// The share of the time between that programs had; `None`: no time has passed.
fn busy(before: (f64, f64), now: (f64, f64)) -> Option<f64> {
    let all = now.0 - before.0;
    (all > 0.0).then(|| (1.0 - (now.1 - before.1) / all).clamp(0.0, 1.0))
}

fn model(text: &str) -> Option<String> {
    let values = text.lines().filter_map(|line| line.split_once(':'));
    let mut values = values.filter(|(name, _)| MODEL.contains(&name.trim())).map(|(_, value)| value.trim().to_owned());
    values.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_that_of_the_time_between() {
        let before = times("cpu  100 0 50 800 40 5 5 0 7 0\ncpu0 1 2").unwrap();
        let now = times("cpu  160 10 70 890 40 5 5 20 7 0\n").unwrap();
        assert_eq!(busy(before, now), Some(0.55));
        assert_eq!(busy(before, before), None);
        assert_eq!(times("intr 1 2 3"), None);
    }

    #[test]
    fn a_busy_machine_is_said_to_be_one() {
        let machine = |share| Machine { processor: None, others_share: Some(share) };
        assert_eq!(machine(0.1).warning(), None);
        let warning = machine(0.374).warning();
        let expected = "other programs use 37 % of the processors: measure again on an idle machine";
        assert_eq!(warning.as_deref(), Some(expected));
    }

    #[test]
    fn the_processor_has_its_name() {
        assert_eq!(model("processor\t: 0\nmodel name\t: AMD EPYC\n").as_deref(), Some("AMD EPYC"));
        assert_eq!(model("processor\t: 0\n"), None);
    }

    #[test]
    fn this_machine_is_looked_at() {
        let machine = Machine::looked_at();
        assert!(machine.others_share.is_none_or(|share| (0.0..=1.0).contains(&share)), "{machine:?}");
    }
}
