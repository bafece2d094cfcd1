#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# What a job is told, and etc/examples/train.sh, which lives by it.

# shellcheck disable=SC2016 # the job's shell expands what stands in single quotes
# shellcheck disable=SC2030,SC2031 # each test has its own job

load plugin

setup_file() { plugin_start; }
teardown_file() { plugin_stop; }
setup() { plugin_setup; }

told() { # FILE NAME
    sed -n "s/^$2=//p" "$1"
}

@test "the job is told estimate, limit, step, epoch, partition, basis and version" {
    local name
    submitted sbatch --parsable "${v100[@]}" "$long" -o told.out --wrap env
    [[ $(wait_job "$job") == COMPLETED ]]
    for name in ESTIMATE_S LIMIT_S STEP_S EPOCH_S PARTITION BASIS VERSION; do
        [[ -n $(told told.out "DLTIME_$name") ]]
        [[ $(told told.out "DLTIME_$name") == "$(told told.out "SLURM_DLTIME_$name")" ]]
    done
    [[ $(told told.out DLTIME_PARTITION) == v100 ]]
    [[ $(told told.out DLTIME_BASIS) == measured ]]
    [[ $(told told.out DLTIME_LIMIT_S) == "$(limit)" ]]
    # 200 epochs of 118 steps and the set-up.
    awk -v e="$(told told.out DLTIME_EPOCH_S)" -v s="$(told told.out DLTIME_STEP_S)" -v j="$(told told.out DLTIME_ESTIMATE_S)" \
        'BEGIN { exit e > 117 * s && e < 121 * s && j > 199 * e && j < 200 * e + 60 ? 0 : 1 }'
}

@test "--export=NONE leaves the names that begin with SLURM" {
    submitted sbatch --parsable "${v100[@]}" "$long" -o none.out --export=NONE --wrap env
    [[ $(wait_job "$job") == COMPLETED ]]
    [[ $(told none.out SLURM_DLTIME_LIMIT_S) == "$(limit)" ]]
    run ! grep -q "^DLTIME" none.out
}

@test "steps, salloc and srun are told as well" {
    run --separate-stderr salloc -Q "${v100[@]}" "$long" srun printenv DLTIME_PARTITION
    [[ $output == v100 ]]
    run --separate-stderr srun "${v100[@]}" "$long" printenv DLTIME_LIMIT_S
    [[ $output =~ ^[0-9]+$ ]]
}

@test "with a --time of the user's own that is the limit" {
    submitted sbatch --parsable "${v100[@]}" "$long" --time=50 -o own.out --wrap env
    [[ $(wait_job "$job") == COMPLETED ]]
    [[ $(told own.out DLTIME_LIMIT_S) == 3000 ]]
}

@test "nothing is told without an estimate, and nothing of an outer job" {
    # Where the tests themselves are told of measurements.
    unset DLTIME_DATA
    submitted sbatch --parsable "${v100[@]}" -o plain.out --wrap env
    [[ $(wait_job "$job") == COMPLETED ]]
    run ! grep DLTIME_ plain.out
    export DLTIME_LIMIT_S=7 SLURM_DLTIME_LIMIT_S=7 SLURM_SPANK_DLTIME_LIMIT_S=7
    submitted sbatch --parsable "${v100[@]}" -o plain.out --wrap env
    [[ $(wait_job "$job") == COMPLETED ]]
    run ! grep DLTIME_ plain.out
}

@test "train.sh writes a checkpoint in time, requeues itself and goes on until it is done" {
    cp "$source_dir/etc/examples/train.sh" .
    # A training of 38 epochs that takes a second for each. Slurm looks every half minute whether the
    # signal is due, which here it is after six seconds.
    cat >train.py <<'END'
#!/bin/sh
# usage: train.py CHECKPOINT EPOCHS: on USR1 it ends after the epoch, which is in the checkpoint.
stop=no
trap 'stop=yes' USR1
done=$(cat "$1" 2>/dev/null || echo 0)
while [ "$done" -lt "$2" ] && [ $stop = no ]; do
    sleep 1
    done=$((done + 1))
    echo $done >"$1"
    echo "epoch $done of run ${SLURM_RESTART_COUNT:-0}"
done
[ "$done" -ge "$2" ] || exit 99
END
    chmod +x train.py
    submitted sbatch --parsable "${v100[@]}" --time=1 --signal=B:USR1@54 --requeue \
        --dl-model=mlp.json,epochs=38 -o train.out --open-mode=append --export=ALL,TRAIN="./train.py state 38" train.sh
    until [[ $(job_field "$job" Restarts) == 1 || $(job_field "$job" JobState) == COMPLETED ]]; do sleep 0.5; done
    # Enough for the second run, which begins when the credential of the first has expired.
    scontrol update JobId="$job" TimeLimit=10
    [[ $(wait_job "$job" 120) == COMPLETED ]] || { cat train.out; return 1; }
    cat train.out
    [[ $(job_field "$job" Restarts) == 1 ]]
    [[ $(grep -c '^epoch' train.out) == 38 ]]
    grep -q 'epoch 1 of run 0' train.out
    grep -q 'epoch 38 of run 1' train.out
    [[ $(cat state) == 38 ]]
}
