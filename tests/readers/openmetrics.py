"""Reads OpenMetrics text with Prometheus' own parser: openmetrics.py FILE prints the samples as JSON."""
import json
import pathlib
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families

families = text_string_to_metric_families(pathlib.Path(sys.argv[1]).read_text())
json.dump({family.name: {"type": family.type, "unit": family.unit,
                         "samples": [[sample.name, sample.labels, sample.value] for sample in family.samples]}
           for family in families}, sys.stdout)
