//! The allocation for people: lines of the page of `doctor`.

use super::{APART_S, Allocation, Tried};
use crate::text;

impl Allocation {
    /// What was found, a line each.
    pub fn lines(&self) -> Vec<String> {
        let nodes =
            self.job_nodes.map(|nodes| format!(" on {}", text::count(nodes as u64, "node"))).unwrap_or_default();
        let job = match (self.system, &self.job) {
            (Some(system), Some(job)) => format!("{system} job {job}{nodes}; "),
            _ => String::new(),
        };
        let mut lines = vec![format!("{job}traces go to {}", self.folder.display())];
        if self.launchers.is_empty() {
            lines.push("no launcher was found".to_owned());
        }
        for tried in &self.launchers {
            lines.extend(tried.lines());
        }
        lines
    }
}

impl Tried {
    fn lines(&self) -> Vec<String> {
        let result = match (&self.trace, &self.problem) {
            (Some(found), _) => {
                let clocks = match found.clock_domains {
                    1 => "one clock".to_owned(),
                    several => format!("{several} clocks, synchronised by {}", found.clock_method),
                };
                format!(
                    "one trace of {} on {}; {clocks}",
                    text::count(found.ranks.into(), "rank"),
                    found.hosts.join(", ")
                )
            }
            (None, Some(problem)) => format!("NO trace: {problem}"),
            (None, None) => "was not tried".to_owned(),
        };
        let mut lines = vec![self.command.clone(), format!("  {result}")];
        for node in &self.nodes {
            let live = node.live_kib.map_or_else(
                || "no memory for trace buffers".to_owned(),
                |kib| format!("{} MiB free for trace buffers", kib / 1024),
            );
            let paranoid =
                node.perf_event_paranoid.map(|level| format!(", perf_event_paranoid {level}")).unwrap_or_default();
            let interface = node.interface.unwrap_or("no PMI");
            lines.push(format!("  {}: {live}{paranoid}, {interface}", node.host));
            if node.clock_ahead_s.abs() >= APART_S {
                let side = if node.clock_ahead_s > 0 { "ahead of" } else { "behind" };
                lines.push(format!(
                    "    its CLOCK_REALTIME is {} s {side} this host's; times of several nodes do not need it",
                    node.clock_ahead_s.abs()
                ));
            }
        }
        lines
    }
}
