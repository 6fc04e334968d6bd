# Chores; each is a script or a cargo command that can be called as well without make.

.PHONY: build test first-run libraries functions

build:
	cargo build --release --workspace

test:
	tests/run.sh

first-run:
	LD_PRELOAD-examples/first-run.sh

libraries:
	tests/mpi/install.sh

functions:
	cargo run -q -p mpitrace-headers --example functions > docs/functions.md
