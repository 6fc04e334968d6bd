//! The machine of a measurement: its processor, and other load during the measurement.

use std::fs;

use serde::Serialize;

/// Other programs that use more than this share of the processors' time perturb the measurement.
const BUSY: f64 = 0.1;
/// The same for the share of time that the hypervisor steals.
const STOLEN: f64 = 0.01;
/// The key of the processor's name in /proc/cpuinfo: on x86-64, on some other processors.
const MODEL: [&str; 2] = ["model name", "Model"];

/// The processor, and other load on it during a measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Machine {
    /// As the system names it.
    pub processor: Option<String>,
    /// The share of all processors' time that other programs used; null where the system does not say.
    pub others_share: Option<f64>,
    /// The share that a virtual machine had to wait for.
    pub stolen_share: Option<f64>,
}

impl Machine {
    /// Runs the work, and measures other load during it.
    pub fn during<T>(work: impl FnOnce() -> T) -> (Machine, T) {
        let before = Times::now();
        let result = work();
        let spent = before.zip(Times::now()).map(|(before, after)| after.since(before));
        let machine = Machine {
            processor: fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| model(&text)),
            others_share: spent.and_then(Times::others_share),
            stolen_share: spent.and_then(Times::stolen_share),
        };
        (machine, result)
    }

    /// Warnings about other load during the measurement.
    pub fn warnings(&self) -> Vec<String> {
        let percent = |share: f64| (100.0 * share).round();
        let others = self.others_share.filter(|&share| share > BUSY).map(|share| {
            format!("other programs used {} % of the processors: measure again on an idle machine", percent(share))
        });
        let stolen = self.stolen_share.filter(|&share| share > STOLEN).map(|share| {
            format!("this virtual machine waited for its processors {} % of the time", percent(share).max(1.0))
        });
        others.into_iter().chain(stolen).collect()
    }
}

/// Processor time since the system's start, in the system's units, all processors together.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Times {
    all: f64,
    /// Of any program.
    busy: f64,
    stolen: f64,
    /// Of this program and those that it has started and waited for.
    own: f64,
}

impl Times {
    fn now() -> Option<Times> {
        let own = [libc::RUSAGE_SELF, libc::RUSAGE_CHILDREN].into_iter().map(seconds).sum::<Option<f64>>()?;
        // SAFETY: sysconf has no preconditions.
        let units = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
        Times::new(&fs::read_to_string("/proc/stat").ok()?, own * units)
    }

    /// From the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal (proc(5)).
    fn new(stat: &str, own: f64) -> Option<Times> {
        let words = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
        let times: Vec<f64> = words.map_while(|word| word.parse().ok()).take(8).collect();
        let [user, nice, system, idle, waiting, interrupts, soft, stolen] = times[..] else { return None };
        let busy = user + nice + system + interrupts + soft;
        Some(Times { all: busy + idle + waiting + stolen, busy, stolen, own })
    }

    fn since(self, before: Times) -> Times {
        Times {
            all: self.all - before.all,
            busy: self.busy - before.busy,
            stolen: self.stolen - before.stolen,
            own: self.own - before.own,
        }
    }

    fn others_share(self) -> Option<f64> {
        (self.all > 0.0).then(|| ((self.busy - self.own) / self.all).clamp(0.0, 1.0))
    }

    fn stolen_share(self) -> Option<f64> {
        (self.all > 0.0).then(|| (self.stolen / self.all).clamp(0.0, 1.0))
    }
}

/// Processor time of this process, or of its children that have ended.
fn seconds(of: libc::c_int) -> Option<f64> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: getrusage writes to the structure that it is given, which is valid in all its bytes anyway.
    let usage = unsafe { (libc::getrusage(of, usage.as_mut_ptr()) == 0).then(|| usage.assume_init()) }?;
    let time = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    Some(time(usage.ru_utime) + time(usage.ru_stime))
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
    fn shares_are_those_of_the_time_between() {
        let before = Times::new("cpu  100 0 50 800 40 5 5 0 7 0\ncpu0 1 2", 10.0).unwrap();
        let after = Times::new("cpu  160 10 70 890 40 5 5 20 7 0\n", 70.0).unwrap();
        let spent = after.since(before);
        assert_eq!(spent, Times { all: 200.0, busy: 90.0, stolen: 20.0, own: 60.0 });
        assert_eq!((spent.others_share(), spent.stolen_share()), (Some(0.15), Some(0.1)));
        assert_eq!(before.since(before).others_share(), None);
        assert_eq!(Times::new("intr 1 2 3", 0.0), None);
    }

    #[test]
    fn a_busy_machine_is_said_to_be_one() {
        let machine = |others, stolen| Machine { processor: None, others_share: Some(others), stolen_share: stolen };
        assert!(machine(0.1, Some(0.01)).warnings().is_empty());
        assert!(machine(0.02, None).warnings().is_empty());
        assert_eq!(
            machine(0.374, Some(0.013)).warnings(),
            [
                "other programs used 37 % of the processors: measure again on an idle machine",
                "this virtual machine waited for its processors 1 % of the time"
            ]
        );
    }

    #[test]
    fn the_processor_has_its_name() {
        assert_eq!(model("processor\t: 0\nmodel name\t: AMD EPYC\n").as_deref(), Some("AMD EPYC"));
        assert_eq!(model("processor\t: 0\n"), None);
    }

    #[test]
    fn this_machine_is_measured() {
        let (machine, result) = Machine::during(|| 3);
        assert_eq!(result, 3);
        assert!(machine.others_share.is_none_or(|share| (0.0..=1.0).contains(&share)), "{machine:?}");
    }
}
