#!/bin/sh
# TaskProlog of Slurm: traces each task of each step of all jobs with mpitrace. What it prints as `export NAME=VALUE`
# becomes the environment of the task. In slurm.conf:
#
#   TaskProlog=/opt/mpitrace/share/mpitrace/slurm/task_prolog.sh
#
# A job opts out by MPITRACE_DISABLE=1. A job that preloads libraries itself keeps them. Edit the settings below.
library=@PREFIX@/lib/mpitrace/libmpitrace.so

[ "${MPITRACE_DISABLE:-}" != 1 ] && [ -e "$library" ] || exit 0
case ${LD_PRELOAD:-} in
    *libmpitrace.so*) exit 0 ;;
esac
echo "export LD_PRELOAD=$library${LD_PRELOAD:+:$LD_PRELOAD}"

# setting NAME VALUE: unless the job has set it.
setting() {
    eval "given=\${$1-}"
    if [ -z "$given" ]; then echo "export $1=$2"; fi
}
setting MPITRACE_OUTPUT /logs/%u/%d/%x-%j.%s.mpitrace
setting MPITRACE_KEEP account
setting MPITRACE_OUTPUT_MAX 100000000
setting MPITRACE_VERBOSE 0
