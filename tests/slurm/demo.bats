#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# scripts/demo with short benchmarks and trainings: that it works, not how well it predicts.

load helper

@test "the demo sets predicted beside real run times and leaves nothing behind" {
    before=(/tmp/dltime-demo-* /tmp/slurm-dev-* /tmp/dltime-"$(id -u)"/*)
    cd /
    DEMO_BENCH_S=6 DEMO_JOB_S=3 run -0 "$source_dir/scripts/demo"
    [[ "$output" == *"sbatch -p cpu1 -c 1 --dl-model=lenet5"* ]]
    for row in 'lenet5 +cpu1' 'lenet5 +cpu2' 'resnet8 +cpu1' 'resnet8 +cpu2'; do
        grep -E "^  $row +[0-9.]+ s  [0-9.]+ - [0-9.]+ s +([0-9:-]+|none) +[0-9]+ s +[+-][0-9]+ %$" <<<"$output"
    done
    after=(/tmp/dltime-demo-* /tmp/slurm-dev-* /tmp/dltime-"$(id -u)"/*)
    [ "${before[*]}" = "${after[*]}" ]
    run ! grep -lsz '^SLURM_DEV_DAEMON=/tmp/dltime-demo-' /proc/[0-9]*/environ
}

@test "an interrupted demo stops its cluster" {
    DEMO_BENCH_S=60 setsid "$source_dir/scripts/demo" >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
    demo=$!
    until grep -q '^  Starting a private Slurm' "$BATS_TEST_TMPDIR/out"; do sleep 0.2; done
    sleep 2
    kill -TERM -- "-$demo"
    run wait "$demo"
    [ "$status" -ne 0 ]
    run ! grep -lsz '^SLURM_DEV_DAEMON=/tmp/dltime-demo-' /proc/[0-9]*/environ
}
