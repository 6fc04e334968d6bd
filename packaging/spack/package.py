"""A Spack recipe for mpitrace: put it into packages/mpitrace/ of a repository of yours (`spack repo create`).

It depends on no MPI: one build serves all MPI libraries. `git` is the address of your clone.
"""

from spack.package import *


class Mpitrace(Package):
    """Traces every collective call of an unmodified MPI program, and says where the ranks' time went."""

    git = "https://example.org/mpitrace.git"

    license("MIT OR Apache-2.0")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("rust@1.88:", type="build")

    conflicts("platform=darwin", msg="the tracer is preloaded by Linux' loader")
    conflicts("platform=windows", msg="the tracer is preloaded by Linux' loader")

    def install(self, spec, prefix):
        cargo = which("cargo", required=True)
        cargo("build", "--release", "--workspace", "--locked", "--jobs", str(make_jobs))
        make("install", f"PREFIX={prefix}")

    def setup_run_environment(self, env):
        env.prepend_path("MANPATH", self.prefix.share.man)

    def test_version(self):
        """The companion says its version, and finds the library that belongs to it."""
        mpitrace = which(self.prefix.bin.mpitrace)
        assert "mpitrace" in mpitrace("--version", output=str)
