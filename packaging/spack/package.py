"""The template of a Spack recipe: `make spack` fills it in, and makes a Spack repository of it in target/packages/spack.

It depends on no MPI: one build serves all MPI libraries. The sources are the archive of `make dist`, which holds all
dependencies. Put the archive where Spack can fetch it, and give its address as URL.
"""

from spack.package import *


class Mpitrace(Package):
    """Traces every collective call of an unmodified MPI program, and shows where the ranks' time went."""

    url = "@URL@"

    license("MIT OR Apache-2.0")

    version("@VERSION@", sha256="@SHA256@")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("rust@1.88:", type="build")

    conflicts("platform=darwin", msg="the tracer is preloaded by Linux' loader")
    conflicts("platform=windows", msg="the tracer is preloaded by Linux' loader")

    def install(self, spec, prefix):
        cargo = which("cargo", required=True)
        cargo("build", "--release", "--workspace", "--frozen", "--jobs", str(make_jobs))
        make("install", f"PREFIX={prefix}")

    def setup_run_environment(self, env):
        env.prepend_path("MANPATH", self.prefix.share.man)

    def test_version(self):
        """The companion prints its version."""
        mpitrace = which(self.prefix.bin.mpitrace)
        assert "mpitrace" in mpitrace("--version", output=str)
