#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# --dl-partition=auto and its objectives.

# shellcheck disable=SC2030,SC2031 # each test has its own job

load plugin

setup_file() { plugin_start; }
teardown_file() { plugin_stop; }
setup() {
    plugin_setup
    priced
}

priced() { # [SETTINGS]
    conf_with "$*" "$(site v100 v100 'gpus_per_node = 4; price = 1.0;')" \
        "$(site a100 a100 'gpus_per_node = 2; price = 10;')" \
        "$(site p100 p100 'gpus_per_node = 2; price = 0.3;')"
}

@test "run: the shortest run, where the user named none" {
    for mode in auto auto:run; do
        submit --gres=gpu:1 "$long" --dl-partition=$mode
        in_partition a100
        says "partition set to a100"
        set_as_said
    done
    submit "${v100[@]}" "$long" --dl-partition=auto
    in_partition v100
    says "-p v100 is left as it is"
}

@test "cost: the cheapest run, with its price" {
    submit --gres=gpu:1 "$long" --dl-partition=auto:cost
    # p100: 46:26 at 0.3 an hour is 0.232; v100: 23:24 at 1 is 0.390; a100: 6:07 at 10 is 1.02.
    in_partition p100
    says "partition set to p100: the cheapest run, 0.232"
    set_as_said
    priced 'objective = "cost"; dl_partition = "auto";'
    submit --gres=gpu:1 "$long"
    in_partition p100
    submit --gres=gpu:1 "$long" --dl-partition=off
    in_partition cpu1
}

@test "cost without prices chooses nothing and says why" {
    conf
    submit --gres=gpu:1 "$long" --dl-partition=auto:cost
    in_partition cpu1
    warns "no partition chosen: no partition has both a price in dltime.conf and an estimate"
}

@test "finish: only where the site lets Slurm be asked" {
    submit --gres=gpu:1 "$long" --dl-partition=auto:finish
    in_partition cpu1
    warns "this site does not let Slurm be asked when a job would start"
}

@test "finish: a busy partition loses to a slower one that is free" {
    local blocker
    # A held job comes behind all that wait.
    scancel --user="$(id -un)"
    priced 'ask_start = true;'
    submitted sbatch --parsable --gres=gpu:1 "$long" --dl-partition=auto:finish --hold --wrap true
    in_partition a100
    says "the job would end earliest there, in about 6 min"
    scancel "$job"
    blocker=$(sbatch --parsable -p a100 --gres=gpu:2 -t 60 -o /dev/null --wrap 'sleep 600')
    until [[ $(job_field "$blocker" JobState) == RUNNING ]]; do sleep 0.2; done
    submitted sbatch --parsable --gres=gpu:1 "$long" --dl-partition=auto:finish --hold --wrap true
    scancel "$blocker"
    in_partition v100
    says "by what Slurm guesses of the queue"
    set_as_said
}

@test "finish: at most three partitions are asked about, and nothing is submitted by it" {
    local before after
    priced 'ask_start = true;'
    before=$(grep -c '_slurm_rpc_job_will_run' "$SLURM_DEV_ROOT/log/slurmctld.log" || true)
    scontrol setdebug debug2
    submit --gres=gpu:1 "$long" --dl-partition=auto:finish
    after=$(grep -c 'REQUEST_JOB_WILL_RUN' "$SLURM_DEV_ROOT/log/slurmctld.log" || true)
    ((after > 0 && after <= before + 6))
    # Where nothing is chosen, nothing is asked.
    submit --gres=gpu:1 "$long" --dl-partition=auto:finish --time=60 --time-min=10
    scontrol setdebug info
    [[ $(grep -c 'REQUEST_JOB_WILL_RUN' "$SLURM_DEV_ROOT/log/slurmctld.log" || true) == "$after" ]]
    [[ $(squeue -h -a -o %i | sort | uniq -d | wc -l) == 0 ]]
}

@test "finish: all questions together take the deadline and no longer" {
    local pid begin
    priced 'ask_start = true; deadline = 0.5; snapshot_age = 60;'
    sed -i 's/snapshot_age = 0; //' "$(slurm_dltime_conf)"
    submit --gres=gpu:1 "$long" --dl-partition=auto:run
    pid=$(cat "$SLURM_DEV_ROOT/run/slurmctld.pid")
    kill -STOP "$pid"
    begin=$EPOCHREALTIME
    sbatch --parsable --hold --gres=gpu:1 "$long" --dl-partition=auto:finish --wrap true >out 2>err 3>&- &
    local submission=$!
    until grep -q 'no partition chosen' err || ! kill -0 "$submission" 2>/dev/null; do sleep 0.05; done
    awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { print b - a; exit b - a < 1.5 ? 0 : 1 }'
    kill -CONT "$pid"
    wait "$submission"
    grep -q "no partition chosen: Slurm did not say in time" err
    job=$(cat out)
    in_partition cpu1
}

@test "a partition of mixed nodes is chosen by its slowest kind" {
    slurm_add "PartitionName=mixed Nodes=a100-1,p100-1 MaxTime=7-00:00:00"
    conf_with '' "$(site v100 v100 'gpus_per_node = 4;')" \
        "$(site mixed a100 'gpus_per_node = 2; gpu_type = "a100";')" \
        "$(site mixed p100 'gpus_per_node = 2; gpu_type = "p100";')"
    submit --gres=gpu:1 "$long" --dl-partition=auto
    in_partition v100
    submit --gres=gpu:a100:1 "$long" --dl-partition=auto
    in_partition mixed
    slurm_reset
}
