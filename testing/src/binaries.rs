//! The tracer and the companion under test: those of the profile that this test was built with.

use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

/// Cargo's target folder, where the MPI libraries, the compiled programs and the traces go: this test runs from the
/// `deps` of one of its profiles.
pub static TARGET: LazyLock<PathBuf> = LazyLock::new(|| BINARIES.parent().expect("the target folder").to_path_buf());

/// The folder of this test's profile.
static BINARIES: LazyLock<PathBuf> = LazyLock::new(|| {
    let me = env::current_exe().expect("the path of this test");
    me.ancestors().nth(2).expect("the profile's folder").to_path_buf()
});

/// The library under test.
pub fn tracer() -> PathBuf {
    BINARIES.join("libmpitrace.so")
}

/// The companion under test.
pub fn companion() -> PathBuf {
    BINARIES.join("mpitrace")
}

/// Builds both, with the profile of this test: `cargo test` itself builds no library that is only preloaded. Takes a
/// moment where nothing has changed, and shares every dependency with the tests. The first tier does without Parquet
/// and Arrow, which take a third of the time.
#[allow(unexpected_cfgs, reason = "benchmarks of crates without this feature build all")]
pub fn build() {
    let folder = BINARIES.file_name().and_then(|name| name.to_str()).expect("a profile");
    let profile = if folder == "debug" { "dev" } else { folder };
    let features = cfg!(not(feature = "columns")).then_some("--no-default-features");
    cargo_build(profile, ["--workspace"].into_iter().chain(features), &[tracer(), companion()]);
}

/// The library in the profile `counted`, without the checks that the tests have: for tests that count instructions.
pub fn counted_tracer() -> PathBuf {
    const PROFILE: &str = "counted";
    let library = TARGET.join(PROFILE).join("libmpitrace.so");
    cargo_build(PROFILE, ["--package", "mpitrace-interpose"], std::slice::from_ref(&library));
    library
}

fn cargo_build(profile: &str, parts: impl IntoIterator<Item = &'static str>, made: &[PathBuf]) {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--profile", profile, "--target-dir"]).arg(&*TARGET).args(parts);
    let built = command.current_dir(crate::root()).status();
    assert!(built.is_ok_and(|status| status.success()), "{command:?}");
    for path in made {
        assert!(path.exists(), "{command:?} made no {}", path.display());
    }
}
