# SPDX-License-Identifier: Apache-2.0
#
# For the bats files in this folder: a private Slurm for each file, and what tests ask it.
#
#   load helper
#   setup_file() { slurm_start; }
#   teardown_file() { slurm_stop; }

bats_require_minimum_version 1.5.0

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BUILD=$(readlink -m "${BUILD:-$source_dir/build}")
export BUILD

slurm_dev() {
    "$source_dir/scripts/slurm-dev" "$@"
}

# slurm_start [START-OPTION...]: starts a cluster in a new folder under /tmp, whose names are short enough for sockets, and puts
# its environment into this shell: sbatch, srun, scontrol and the built programs just work.
slurm_start() {
    SLURM_DEV_ROOT=$(mktemp -d /tmp/dltime-test-XXXXXX)
    chmod 755 "$SLURM_DEV_ROOT"
    export SLURM_DEV_ROOT
    slurm_dev start "$@" || return 1
    SLURM_CONF=$(slurm_dev run printenv SLURM_CONF)
    XDG_RUNTIME_DIR=$(slurm_dev run printenv XDG_RUNTIME_DIR)
    PATH=$BUILD:$PATH
    export SLURM_CONF XDG_RUNTIME_DIR PATH
}

slurm_stop() {
    slurm_dev stop
    rmdir "$SLURM_DEV_ROOT"
}

# The file that the plugin reads; tests write it as they need it.
slurm_dltime_conf() {
    echo "$SLURM_DEV_ROOT/etc/dltime.conf"
}

# One field of `scontrol show job`: job_field 4711 TimeLimit
job_field() { # JOB FIELD
    scontrol show job -o "$1" | tr ' ' '\n' | sed -n "s/^$2=//p" | head -n 1
}

# Waits until a job has ended and prints its last state; fails where it has not after SECONDS.
wait_job() { # JOB [SECONDS]
    local deadline=$((SECONDS + ${2:-60})) state
    while state=$(job_field "$1" JobState) && [[ $state =~ ^(PENDING|RUNNING|COMPLETING|CONFIGURING)$ ]]; do
        if ((SECONDS >= deadline)); then
            echo "job $1 is still $state after ${2:-60} s: $(scontrol show job -o "$1")" >&2
            return 1
        fi
        sleep 0.2
    done
    echo "$state"
}

# Seconds of a limit as Slurm prints it: [days-]hours:minutes:seconds, minutes:seconds.
seconds_of() { # TIME
    local days=0 time=$1 seconds=0 part
    if [[ $time == *-* ]]; then
        days=${time%%-*}
        time=${time#*-}
    fi
    for part in ${time//:/ }; do
        seconds=$((seconds * 60 + 10#$part))
    done
    echo $((days * 86400 + seconds))
}
