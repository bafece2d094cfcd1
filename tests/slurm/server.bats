#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# The site's own rules beside the plugin: etc/examples/job_submit.lua and cli_filter.lua.

# shellcheck disable=SC2030,SC2031 # each test has its own job

load plugin

setup_file() {
    plugin_start || return 1
    cp "$SLURM_DEV_ROOT/etc/job_submit.lua" kept.lua
    cp "$source_dir/etc/examples/job_submit.lua" "$SLURM_DEV_ROOT/etc/job_submit.lua"
    # Read again only where it is newer, in seconds, than the controller's start.
    touch -d '2 seconds' "$SLURM_DEV_ROOT/etc/job_submit.lua"
    slurm_add "PartitionName=short Nodes=a100-1 MaxTime=7-00:00:00"
}
teardown_file() { plugin_stop; }
setup() {
    plugin_setup
    conf
}

@test "job_submit: a job without an estimate is left alone" {
    submit "${v100[@]}" --time=5-0
    [[ $(job_field "$job" TimeLimit) == 5-00:00:00 ]]
}

@test "job_submit: the estimate arrives, and what dltime set stands" {
    submit "${v100[@]}" "$long"
    set_as_said
}

@test "job_submit: a --time far over the estimate is capped" {
    # Ten times 23:24 are 234 minutes.
    submit "${v100[@]}" "$long" --time=5-0
    [[ $(job_field "$job" TimeLimit) == 03:54:00 ]]
    says "--time is capped at 234 minutes"
    run --separate-stderr salloc "${v100[@]}" "$long" --time=5-0 sh -c 'squeue -h -j $SLURM_JOB_ID -o %l'
    [[ $output == 3:54:00 ]]
    run --separate-stderr srun "${v100[@]}" "$long" --time=5-0 sh -c 'squeue -h -j $SLURM_JOB_ID -o %l'
    [[ $output == 3:54:00 ]]
}

@test "job_submit: a training of months is refused with the mend" {
    run sbatch --hold "${v100[@]}" --dl-model=mlp.json,epochs=2000000 --wrap true
    ((status != 0))
    [[ $output == *"a training of "*" days is refused: write checkpoints, requeue"* ]]
}

@test "job_submit: a short training without -p is rerouted" {
    submit --gres=gpu:1 "$long"
    in_partition cpu1
    conf 'default_candidates = "a100";'
    submit --gres=gpu:1 "$long"
    in_partition short
    set_as_said
}

@test "job_submit: components of a heterogeneous job are told apart" {
    run --separate-stderr sbatch --parsable --hold "${v100[@]}" "$long" --time=5-0 : "${v100[@]}" --time=5-0 --wrap true
    ((status == 0))
    [[ $(job_field "$output+0" TimeLimit) == 03:54:00 ]]
    [[ $(job_field "$output+1" TimeLimit) == 5-00:00:00 ]]
}

@test "cli_filter: --time is needed, but for jobs with --dl-model" {
    cp -r "$SLURM_DEV_ROOT/etc" strict
    cp "$source_dir/etc/examples/cli_filter.lua" strict/
    echo CliFilterPlugins=lua >>strict/slurm.conf
    export SLURM_CONF=$folder/strict/slurm.conf
    run sbatch --hold "${v100[@]}" --wrap true
    ((status != 0))
    [[ $output == *"a time limit is needed: --time, or --dl-model"* ]]
    submit "${v100[@]}" --time=5
    [[ $(job_field "$job" TimeLimit) == 00:05:00 ]]
    submit "${v100[@]}" "$long"
    set_as_said
    DL_MODEL=mlp.json,epochs=200 submit "${v100[@]}"
    set_as_said
    run --separate-stderr salloc -Q "${v100[@]}" --time=5 srun echo step
    [[ $output == step ]]
}
