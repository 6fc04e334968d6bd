# The chores of this repository, all of them; each is a script or a cargo command that can be called without make as well.

bench_lib = $(or $(CARGO_TARGET_DIR),target)/bench-lib

.PHONY: help build bench-lib install uninstall deb wheel dist archive spack test test-all test-one soak bench format lint docs book functions columns gallery libraries first-run

help: # This list
	@sed -n 's/^\([a-z-]*\):.* # /\1\t/p' Makefile | expand -t 12

build: # libmpitrace.so and mpitrace, in target/release
	cargo build --release --workspace

bench-lib: # libmpitrace_bench.a (mpitrace_enough) for an MPI library, in target/bench-lib: make bench-lib MPICC=mpicc
	mkdir -p $(bench_lib)
	$(or $(MPICC),mpicc) -O2 -fPIC -Iinclude -c -o $(bench_lib)/mpitrace_bench.o include/mpitrace_bench.c
	rm -f $(bench_lib)/libmpitrace_bench.a
	ar rcs $(bench_lib)/libmpitrace_bench.a $(bench_lib)/mpitrace_bench.o

install: # Installs the build: make install PREFIX=/opt/mpitrace DESTDIR=
	PREFIX="$(or $(PREFIX),/usr/local)" DESTDIR="$(DESTDIR)" BUILT="$(BUILT)" packaging/install.sh

uninstall: # Removes what `make install` has installed: make uninstall PREFIX=/opt/mpitrace DESTDIR=
	PREFIX="$(or $(PREFIX),/usr/local)" DESTDIR="$(DESTDIR)" packaging/uninstall.sh

deb: # A Debian package of the build, in target/packages
	packaging/deb.sh

wheel: # A Python wheel with the package, mpitrace and libmpitrace.so, in target/packages; GLIBC=2.17: for older systems
	WHOLE=1 GLIBC="$(GLIBC)" python3 -m pip wheel --no-deps --wheel-dir "$(or $(CARGO_TARGET_DIR),target)/packages" ./python

dist: # An archive of the sources with all dependencies, in target/packages
	packaging/dist.sh

archive: # An archive with all programs and the wheel, for machines without cargo, from glibc 2.17 on, in target/packages
	packaging/archive.sh

spack: # A Spack repository with the recipe and the archive of the sources, in target/packages; URL=: where the archive is
	URL="$(URL)" packaging/spack.sh

test: # The first tier of the tests, with its own set-up: what CI runs
	tests/run.sh

test-all: # The second tier: before an issue is called resolved
	tests/run.sh --all

test-one: # One whole-program test, or one file of them: make test-one NAME=clocks::
	cargo test --profile checked --test whole_programs -- $(NAME)

soak: # One of the tests that take long: make soak NAME=load
	tests/run.sh --soak $(NAME)

bench: # What a call costs here; make bench NAME=clock_methods, categories, imb, ...
	cargo bench --workspace --bench $(or $(NAME),call_cost)

format: # Formats all Rust
	cargo fmt --all

lint: # What clippy says, as the tests ask it
	cargo clippy --workspace --all-targets --profile checked -- -D warnings

docs: # The API pages, and the commands in the documentation
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps
	tests/documentation.sh

book: # The pages as a site with search, in target/book; needs mdbook
	mdbook build docs

functions: # Writes docs/developers/functions.md, from the table of functions
	cargo run -q -p mpitrace-headers --example functions > docs/developers/functions.md

columns: # Writes docs/developers/columns.md, from the table of columns
	WRITE_PAGES=1 cargo test -q --profile checked -p mpitrace-format --test columns_page

gallery: build # Makes the pictures of docs/fingerprint.md anew
	docs/gallery/make.sh

libraries: # The MPI libraries and tools that the tests need
	tests/mpi/install.sh

first-run: # From here to the first categories of repetitions
	LD_PRELOAD-examples/first-run.sh
