//! OpenMetrics text, line by line: <https://prometheus.io/docs/specs/om/open_metrics_spec/>.

use std::io::{self, Write};

/// The lines before the values of a metric.
pub fn head(output: &mut dyn Write, name: &str, kind: &str, unit: &str, help: &str) -> io::Result<()> {
    writeln!(output, "# TYPE mpitrace_{name} {kind}")?;
    if !unit.is_empty() {
        writeln!(output, "# UNIT mpitrace_{name} {unit}")?;
    }
    writeln!(output, "# HELP mpitrace_{name} {help}.")
}

/// A label with its value: `user="alice"`.
pub fn label(name: &str, value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("{name}=\"{value}\"")
}
