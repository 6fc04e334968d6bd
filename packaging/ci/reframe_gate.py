"""A ReFrame test that runs `mpitrace gate`: reframe -c reframe_gate.py -S program=./app -S baseline=DIR -r"""
import json
import os

import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class MpitraceGate(rfm.RunOnlyRegressionTest):
    """Fails where the program is slower than its baseline, and is skipped where the runs do not decide."""

    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    local = True
    program = variable(str, value="./app")
    launcher_words = variable(str, value="mpirun -np 2")
    baseline = variable(str, value="baseline")
    runs = variable(int, value=10)
    executable = "mpitrace"

    @run_before("run")
    def set_command(self):
        """The gate starts the launcher itself."""
        options = ["gate", "--baseline", os.path.abspath(self.baseline), "--runs", str(self.runs), "--"]
        self.executable_opts = options + self.launcher_words.split() + [os.path.abspath(self.program)]

    @sanity_function
    def decided(self):
        """By the file that the gate leaves."""
        with open(os.path.join(self.stagedir, "mpitrace-gate", "gate.json"), encoding="utf-8") as file:
            self.gate = json.load(file)
        self.skip_if(self.gate["decision"] == "not-decided", self.gate["sentence"])
        return sn.assert_eq(self.gate["decision"], "passed", msg=self.gate["sentence"])

    @performance_function("s")
    def job_time(self):
        """The median of the runs."""
        return self.gate["rows"][0]["now_ns"] / 1e9
