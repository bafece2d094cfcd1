#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Limits of associations and QOS, which live in Slurm's database: no job is made unrunnable.

# shellcheck disable=SC2030,SC2031 # each test has its own job

load plugin

setup_file() {
    local program
    for program in mariadbd slurmdbd; do
        command -v $program >/dev/null || skip "$program is not installed"
    done
    plugin_start --accounting
}
teardown_file() {
    [[ ! ${folder:-} ]] || plugin_stop
}
setup() { plugin_setup; }

# What has a limit that dltime knows, and what has none.
known() {
    conf_with '' "$(site v100 v100 "gpus_per_node = 4; max_wall = \"$1\";")"
}

@test "an unknown limit is only suggested against" {
    submit "${v100[@]}" "$long"
    says "because what your account may use at most is not known here; --time=00:38:00 would do"
    unchanged
}

@test "max_wall lets the limit be set, and caps it" {
    known 1-00:00:00
    submit "${v100[@]}" "$long"
    set_as_said
    known 30m
    submit "${v100[@]}" "$long"
    [[ $(job_field "$job" TimeLimit) == 00:30:00 ]]
    says "the longest that v100 allows is 00:30:00"
}

@test "MaxWall of an association: what is set runs, what is not known is not set" {
    timeout 20 sacctmgr -i modify user "$(id -un)" where account=dev set maxwall=60 >/dev/null
    known 1h
    submit "${v100[@]}" "$long"
    set_as_said
    scontrol release "$job"
    [[ $(wait_job "$job") == COMPLETED ]]
    # An hour is less than the job needs here: nothing that would wait for ever is set.
    submit -p v100 --gres=gpu:1 --dl-model=mlp.json,epochs=2000
    [[ $(job_field "$job" TimeLimit) == 01:00:00 ]] # Slurm's own choice
    warns "time limit left alone"
    timeout 20 sacctmgr -i modify user "$(id -un)" where account=dev set maxwall=-1 >/dev/null
}

@test "MaxWall of a QOS" {
    timeout 20 sacctmgr -i add qos brief set maxwall=10 flags=DenyOnLimit >/dev/null
    timeout 20 sacctmgr -i modify user "$(id -un)" where account=dev set qos+=brief >/dev/null
    conf
    # Seven days would be refused; ten minutes are the QOS's own.
    submit "${v100[@]}" --qos=brief "$long"
    says "not known here"
    [[ $(job_field "$job" TimeLimit) == 00:10:00 ]]
    run sbatch --hold "${v100[@]}" --qos=brief --time=38 --wrap true
    ((status != 0))
}

@test "AllowQos and an account's partition: named only to whom they are open" {
    slurm_add "PartitionName=fast Nodes=a100-1 MaxTime=7-00:00:00 AllowQos=brief"
    conf_with '' "$(site v100 v100 'gpus_per_node = 4; max_wall = "1-0";')" \
        "$(site fast a100 'gpus_per_node = 2; max_wall = "1-0";')"
    submit "${v100[@]}" "$long"
    [[ $stderr != *"-p fast"* ]]
    # max_wall is everybody's: of a QOS that the user chose it says nothing.
    submit "${v100[@]}" --qos=brief "$long"
    says "-p fast"
    says "not known here"
    slurm_reset
}

@test "a limit below DefaultTime passes no limit that is not known" {
    slurm_add "PartitionName=usual Nodes=v100-2 DefaultTime=1-00:00:00 MaxTime=7-00:00:00"
    conf_with '' "$(site usual v100 'gpus_per_node = 4;')"
    submit -p usual --gres=gpu:1 "$long"
    set_as_said
    slurm_reset
}
