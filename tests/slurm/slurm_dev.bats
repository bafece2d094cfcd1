#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# scripts/slurm-dev: the cluster on which everything else is tested.

load helper

setup_file() {
    slurm_start
}

teardown_file() {
    slurm_stop
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
}

# A test that fails in the middle leaves no cluster either.
teardown() {
    if [ -n "${other:-}" ]; then
        slurm_dev stop --root "$other" 2>/dev/null || true
    fi
}

# The processes that carry a cluster's mark in their environment.
marked() { # ROOT
    grep -lszxF "SLURM_DEV_DAEMON=$1" /proc/[0-9]*/environ | cut -d / -f 3
}

@test "there are five partitions with the GPUs that their names promise" {
    run -0 sinfo -h -o '%R %D %G'
    [ "$(sort <<<"$output")" = "$(printf '%s\n' 'a100 1 gpu:a100:2' 'cpu1 1 (null)' \
        'cpu2 1 (null)' 'p100 1 gpu:p100:2' 'v100 2 gpu:v100:4')" ]
}

@test "status shows every daemon as running, and fails where nothing runs" {
    run -0 slurm_dev status
    [ "$(grep -c ' running$' <<<"$output")" -eq 8 ]
    [[ "$output" != *down* ]]
    run -1 slurm_dev status --root "$BATS_TEST_TMPDIR/none"
    [[ "$output" == *"nothing runs in"* ]]
}

@test "sbatch, srun and salloc run jobs" {
    job=$(sbatch --parsable -p p100 --wrap 'hostname')
    [ "$(wait_job "$job")" = COMPLETED ]
    [ "$(srun -p v100 -N 2 -n 2 sh -c 'echo $SLURMD_NODENAME' | sort | xargs)" = "v100-1 v100-2" ]
    [ "$(salloc -Q -p a100 srun sh -c 'echo $SLURMD_NODENAME')" = a100-1 ]
}

@test "a job sees the GPUs that it asked for and cannot have more than a node has" {
    [ "$(srun -p v100 --gres=gpu:v100:3 sh -c 'echo $CUDA_VISIBLE_DEVICES')" = 0,1,2 ]
    run srun -p a100 -N 1 --gres=gpu:3 true
    [ "$status" -ne 0 ]
}

@test "cpu1 has one CPU and cpu2 two, disjoint where the machine has three" {
    one=$(srun -p cpu1 sh -c 'taskset -cp $$' | sed 's/.*: //')
    two=$(srun -p cpu2 sh -c 'taskset -cp $$' | sed 's/.*: //; s/-/,/')
    [[ "$one" =~ ^[0-9]+$ ]]
    if [ "$(nproc)" -ge 3 ]; then
        [[ ",$two," != *",$one,"* ]]
    fi
    if [ "$(nproc)" -ge 2 ]; then
        [ "$(srun -p cpu2 nproc)" = 2 ]
    fi
    [ "$(srun -p cpu1 nproc)" = 1 ]
}

@test "jobs on cpu1 and cpu2 never run at the same moment" {
    for partition in cpu1 cpu2 cpu1 cpu2; do
        jobs+=("$(sbatch --parsable -p "$partition" -o "$partition-%j" --wrap 'date +%s.%N; sleep 1; date +%s.%N')")
    done
    for job in "${jobs[@]}"; do
        [ "$(wait_job "$job")" = COMPLETED ]
    done
    # Each file is one interval; sorted by their starts, each ends before the next begins.
    for file in cpu*-*; do
        paste -sd ' ' "$file"
    done | sort -n | awk '$1 < end { exit 1 } { end = $2 }'
}

@test "a licence of the user's own is kept beside the machine's" {
    job=$(sbatch --parsable -H -p cpu1 -L machine:1 --wrap true)
    [ "$(job_field "$job" Licenses)" = machine:1 ]
    scancel "$job"
    job=$(sbatch --parsable -H -p v100 --wrap true)
    [ "$(job_field "$job" Licenses)" = "(null)" ]
    scancel "$job"
}

@test "the plugin of the build folder is loaded, whatever the folder is called" {
    [ -e "$BUILD/spank_dltime.so" ]
    run -0 --separate-stderr sbatch --help
    [[ "$output" == *--dl-model* ]]
    [ -z "$stderr" ]
    folder="$BATS_TEST_TMPDIR/a build's \"folder\""
    mkdir "$folder"
    cp "$BUILD"/*.so "$folder"
    other=$BATS_TEST_TMPDIR/other
    BUILD=$folder slurm_dev start --root "$other"
    run -0 --separate-stderr slurm_dev run --root "$other" srun --help
    [[ "$output" == *--dl-model* ]]
    [ -z "$stderr" ]
    slurm_dev stop --root "$other"
}

@test "run passes the command's exit status on" {
    run -7 slurm_dev run sh -c 'exit 7'
    run -0 slurm_dev run sh -c 'echo "$SLURM_CONF"'
    [ "$output" = "$SLURM_CONF" ]
}

@test "start on a running cluster leaves it and its jobs alone" {
    job=$(sbatch --parsable -p v100 --wrap 'sleep 60')
    until [ "$(job_field "$job" JobState)" = RUNNING ]; do sleep 0.2; done
    run -0 slurm_dev start
    [[ "$output" == *"already running"* ]]
    [ "$(job_field "$job" JobState)" = RUNNING ]
    scancel "$job"
}

@test "two clusters run side by side and do not see each other's jobs" {
    other=$BATS_TEST_TMPDIR/other
    slurm_dev start --root "$other"
    job=$(slurm_dev run --root "$other" sbatch --parsable -H -p v100 --wrap true)
    [ -n "$job" ]
    [ -z "$(squeue -h -o %i)" ]
    slurm_dev stop --root "$other"
    [ ! -e "$other" ]
    run -0 slurm_dev status
}

@test "a root folder with spaces, quotes and a long name works and leaves nothing" {
    before=(/tmp/slurm-dev-*)
    other=$BATS_TEST_TMPDIR/"it's #1, a \"root\" with spaces"/$(printf 'long%.0s' {1..30})
    slurm_dev start --root "$other"
    [ "$(slurm_dev run --root "$other" srun -p v100 --gres=gpu:1 sh -c 'echo $CUDA_VISIBLE_DEVICES')" = 0 ]
    slurm_dev stop --root "$other"
    [ ! -e "$other" ]
    [ -z "$(marked "$other")" ]
    after=(/tmp/slurm-dev-*)
    [ "${before[*]}" = "${after[*]}" ]
}

@test "stop ends running jobs and leaves no process and no file" {
    other=$BATS_TEST_TMPDIR/other
    slurm_dev start --root "$other"
    slurm_dev run --root "$other" sbatch -p v100 --wrap 'sleep 1234'
    slurm_dev run --root "$other" sbatch -p cpu1 --wrap 'trap "" TERM; sleep 1235 & wait; sleep 1235'
    sleep 1
    slurm_dev stop --root "$other"
    [ ! -e "$other" ]
    [ -z "$(marked "$other")" ]
    run ! pgrep -f 'sleep 123[45]'
}

@test "starts and stops at the same moment do not trip over each other" {
    other=$BATS_TEST_TMPDIR/other
    for _ in 1 2 3 4; do
        slurm_dev start --root "$other" 3>&- &
    done
    for _ in 1 2 3 4; do
        wait -n
    done
    run -0 slurm_dev status --root "$other"
    slurm_dev run --root "$other" srun -p cpu1 true
    slurm_dev stop --root "$other" 3>&- &
    slurm_dev stop --root "$other"
    wait $!
    [ ! -e "$other" ]
    [ -z "$(marked "$other")" ]
}

@test "stop twice is no error" {
    other=$BATS_TEST_TMPDIR/other
    slurm_dev start --root "$other"
    slurm_dev stop --root "$other"
    run -0 slurm_dev stop --root "$other"
}

@test "stop cleans up after every daemon, slurmstepd included, was killed" {
    other=$BATS_TEST_TMPDIR/other
    slurm_dev start --root "$other"
    slurm_dev run --root "$other" sbatch -p v100 --export=NONE --wrap 'exec sleep 1236'
    until pgrep -f 'sleep 1236'; do sleep 0.2; done
    mapfile -t pids < <(marked "$other")
    kill -KILL "${pids[@]}"
    sleep 0.2
    run -1 slurm_dev status --root "$other"
    [ "$(grep -c ' down$' <<<"$output")" -eq 8 ]
    slurm_dev stop --root "$other"
    [ ! -e "$other" ]
    run ! pgrep -f 'sleep 1236'
}

@test "stop ends a cluster whose folder was removed" {
    other=$BATS_TEST_TMPDIR/other
    slurm_dev start --root "$other"
    rm -r "$other"
    slurm_dev stop --root "$other"
    [ -z "$(marked "$other")" ]
}

@test "start replaces what a crash left behind" {
    other=$BATS_TEST_TMPDIR/other
    slurm_dev start --root "$other"
    kill -KILL "$(cat "$other/run/slurmctld.pid")"
    slurm_dev start --root "$other"
    slurm_dev run --root "$other" srun -p cpu1 true
    slurm_dev stop --root "$other"
}

@test "a stale pid file that names somebody else's process harms nobody" {
    other=$BATS_TEST_TMPDIR/other
    slurm_dev start --root "$other"
    kill -KILL "$(cat "$other/run/slurmd.a100-1.pid")"
    sleep 60 3>&- &
    echo $! >"$other/run/slurmd.a100-1.pid"
    slurm_dev stop --root "$other"
    kill -0 $!
    kill $!
}

@test "a folder that holds something else is refused and left alone" {
    mkdir full
    echo precious >full/file
    run -1 slurm_dev start --root full
    [[ "$output" == *"neither empty nor a development cluster's"* ]]
    run -0 slurm_dev stop --root full
    [ "$(cat full/file)" = precious ]
}

@test "a root folder that cannot be is refused" {
    echo text >file
    run -1 slurm_dev start --root file
    [[ "$output" == *"is not a folder"* ]]
    run -1 slurm_dev start --root file/below
    [[ "$output" == *"cannot be made"* ]]
    run -1 slurm_dev start --root /proc/cluster
    [[ "$output" == *"cannot be made"* ]]
}

@test "an empty folder of the user's is kept when the cluster stops" {
    mkdir mine
    slurm_dev start --root mine
    slurm_dev stop --root mine
    [ -d mine ]
    [ -z "$(ls -A mine)" ]
}

@test "it runs without root rights" {
    if [ "$(id -u)" -ne 0 ]; then
        skip "not root: every other test here shows it"
    fi
    mkdir "$SLURM_DEV_ROOT/nobody" && chown nobody "$SLURM_DEV_ROOT/nobody"
    as_nobody() {
        (cd / && HOME=/ setpriv --reuid=nobody --regid=nogroup --clear-groups -- "$@")
    }
    other=$SLURM_DEV_ROOT/nobody/cluster
    cp "$source_dir/scripts/slurm-dev" "$SLURM_DEV_ROOT/nobody/slurm-dev"
    as_nobody "$SLURM_DEV_ROOT/nobody/slurm-dev" start --root "$other"
    [ "$(as_nobody "$SLURM_DEV_ROOT/nobody/slurm-dev" run --root "$other" srun -p v100 --gres=gpu:2 id -un)" = nobody ]
    as_nobody "$SLURM_DEV_ROOT/nobody/slurm-dev" stop --root "$other"
    [ ! -e "$other" ]
    rm -r "$SLURM_DEV_ROOT/nobody"
}

@test "another user may submit to root's cluster" {
    if [ "$(id -u)" -ne 0 ]; then
        skip "needs root"
    fi
    [ "$(cd / && setpriv --reuid=nobody --regid=nogroup --clear-groups srun -p p100 id -un)" = nobody ]
}

@test "wrong usage is refused" {
    run -2 slurm_dev
    run -2 slurm_dev frobnicate
    run -1 slurm_dev start --rot x
    run -1 slurm_dev start now
    run -1 slurm_dev run
    run -0 slurm_dev --help
}
