#!/bin/bash
# An application as Debian ships it: LAMMPS melts a crystal of 4000 atoms. Which of its collectives are slow, and when?
set -euo pipefail
cd "$(dirname "$0")/.."
. LD_PRELOAD-examples/settings
mpitrace=$(realpath "${CARGO_TARGET_DIR:-target}/release/mpitrace")
command -v lmp >/dev/null || skip "no LAMMPS (lmp)"
cd "$(mktemp -d)"

cat >in.melt <<'END'
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 10 0 10 0 10
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
thermo 5
run 250
END
# Debian's LAMMPS is linked to Open MPI.
"$mpitrace" run -o lammps.mpitrace -- mpirun.openmpi -np 2 lmp -in in.melt -log none -screen none

"$mpitrace" info lammps.mpitrace
"$mpitrace" categorize lammps.mpitrace
rm -r "$PWD"
