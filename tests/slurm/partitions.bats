#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Partitions that a job may land on, may not use, or cannot see, and what they allow.

# shellcheck disable=SC2030,SC2031 # each test has its own job

load plugin

setup_file() { plugin_start; }
teardown_file() { plugin_stop; }
setup() { plugin_setup; }
teardown() { slurm_reset; }

# A second partition of the a100's node, with these settings of slurm.conf, that is faster than v100.
fast() {
    slurm_add "PartitionName=fast Nodes=a100-1 MaxTime=7-00:00:00 $*"
    conf_with '' "$(site v100 v100 'gpus_per_node = 4;')" "$(site fast a100 'gpus_per_node = 2;')"
}

@test "takes the slowest of several partitions" {
    submit -p p100 --gres=gpu:1 "$long"
    local slow
    slow=$(limit)
    submit -p a100,p100 --gres=gpu:1 "$long"
    [[ $(limit) == "$slow" ]]
    [[ $(grep -c '^\* ' <<<"$stderr") == 2 ]]
}

@test "whatever EnforcePartLimits is, several partitions get a limit that all of them allow" {
    local enforce
    for enforce in NO ANY ALL; do
        slurm_add "EnforcePartLimits=$enforce" "PartitionName=short Nodes=v100-2 MaxTime=00:30:00"
        conf_with '' "$(site p100 p100 'gpus_per_node = 2;')" "$(site short v100 'gpus_per_node = 4;')"
        submit -p short,p100 --gres=gpu:1 "$long"
        # It needs an hour and a quarter on p100; short allows half an hour.
        [[ $(job_field "$job" TimeLimit) != 01:15:00 ]]
        says "the longest that short allows is 00:30:00"
        submit -p short,p100 --gres=gpu:1 --dl-model=mlp.json,epochs=50
        set_as_said
        (($(limit) <= 1800))
        slurm_reset
    done
}

@test "a job that names no partition is judged by the default one" {
    submit --dl-model=mlp.json,epochs=1
    grep -q '^\* cpu1' <<<"$stderr"
    set_as_said
}

@test "default_candidates stand in for a missing -p" {
    conf 'default_candidates = "v100,p100";'
    submit --gres=gpu:1 "$long"
    [[ $(grep -c '^\* ' <<<"$stderr") == 2 ]]
    says "(p100)"
}

@test "MaxTime holds, also where the grain would go over it" {
    slurm_add "PartitionName=short Nodes=v100-2 MaxTime=00:40:00" \
        "PartitionName=ever Nodes=v100-2 MaxTime=UNLIMITED"
    conf_with 'grain = "1h";' "$(site short v100 'gpus_per_node = 4;')" \
        "$(site ever v100 'gpus_per_node = 4;')"
    submit -p short --gres=gpu:1 "$long"
    [[ $(job_field "$job" TimeLimit) == 00:40:00 ]]
    set_as_said
    # Three centuries, in seconds, are more than Slurm counts to.
    submit -p ever --gres=gpu:1 --dl-model=mlp.json,epochs=1000000000
    warned_once "Slurm did not take the time limit"
    [[ $(job_field "$job" TimeLimit) == UNLIMITED ]]
}

@test "DefaultTime is replaced by the estimate, longer or shorter" {
    slurm_add "PartitionName=brief Nodes=v100-2 DefaultTime=00:01:00 MaxTime=7-00:00:00" \
        "PartitionName=lavish Nodes=v100-2 DefaultTime=5-00:00:00 MaxTime=7-00:00:00"
    conf_with '' "$(site brief v100 'gpus_per_node = 4;')" "$(site lavish v100 'gpus_per_node = 4;')"
    for partition in brief lavish; do
        submit -p $partition --gres=gpu:1 "$long"
        set_as_said
        [[ $(job_field "$job" TimeLimit) == 00:38:00 ]]
    done
}

@test "a partition that is down is not recommended, and kept where it is named" {
    fast State=DOWN
    submit "${v100[@]}" "$long"
    [[ $stderr != *fast* ]]
    set_as_said
    submit -p fast --gres=gpu:1 "$long"
    set_as_said
    submit --gres=gpu:1 "$long" --dl-partition=auto
    in_partition v100
}

@test "a hidden partition is not named, and serves those who know it" {
    need_root
    fast Hidden=YES
    submitted other sbatch --parsable --hold "${v100[@]}" "$long" --wrap true
    [[ $stderr != *fast* ]]
    submitted other sbatch --parsable --hold -p fast --gres=gpu:1 "$long" --wrap true
    set_as_said
}

@test "AllowGroups: another group's partition is not recommended" {
    need_root
    fast AllowGroups=root
    submitted other sbatch --parsable --hold "${v100[@]}" "$long" --wrap true
    [[ $stderr != *"-p fast"* ]]
    submitted other sbatch --parsable --hold --gres=gpu:1 "$long" --dl-partition=auto --wrap true
    in_partition v100
}

@test "RootOnly, ReqResv, AllocNodes: a partition that would refuse the job is neither named nor chosen" {
    need_root
    slurm_add "PartitionName=roots Nodes=a100-1 RootOnly=YES" \
        "PartitionName=reserved Nodes=a100-1 ReqResv=YES" \
        "PartitionName=elsewhere Nodes=a100-1 AllocNodes=host-[1-4],another" \
        "PartitionName=here Nodes=a100-1 AllocNodes=another,$(hostname -s)"
    conf_with '' "$(site v100 v100 'gpus_per_node = 4;')" "$(site roots a100 'gpus_per_node = 2;')" \
        "$(site reserved a100 'gpus_per_node = 2;')" "$(site elsewhere a100 'gpus_per_node = 2;')" \
        "$(site here a100 'gpus_per_node = 2;')"
    submitted other sbatch --parsable --hold "${v100[@]}" "$long" --wrap true
    says "-p here"
    [[ $(grep -c A100 <<<"$stderr") == 1 ]]
    # Of partitions alike the first is chosen.
    run -0 other dltime advise "${long#--dl-model=}" --conf "$(slurm_dltime_conf)" -- --gres=gpu:1 --dl-partition=auto
    [[ $output == *"partition would be set to here"* ]]
}

@test "AllowAccounts: recommended to those accounts alone" {
    fast AllowAccounts=physics
    submit "${v100[@]}" "$long"
    grep -q '^  fast ' <<<"$stderr"
    [[ $stderr != *"-p fast"* ]]
    submit "${v100[@]}" -A physics "$long"
    says "-p fast"
    submit "${v100[@]}" -A guests "$long"
    [[ $stderr != *"-p fast"* ]]
}

@test "DenyAccounts: named to whom it may serve, chosen only for whom it does" {
    fast DenyAccounts=guests
    submit "${v100[@]}" "$long"
    says "-p fast"
    submit "${v100[@]}" -A guests "$long"
    [[ $stderr != *"-p fast"* ]]
    submit --gres=gpu:1 "$long" --dl-partition=auto
    in_partition v100
    submit --gres=gpu:1 -A physics "$long" --dl-partition=auto
    in_partition fast
}

@test "beside --constraint and --nodelist no other partition is recommended" {
    submit "${v100[@]}" --constraint=v100 "$long"
    set_as_said
    [[ $stderr != *"less: -p"* ]]
    submit "${v100[@]}" --nodelist=v100-1 "$long"
    set_as_said
    [[ $stderr != *"less: -p"* ]]
    submit --gres=gpu:1 --nodelist=cpu1-1 "$long" --dl-partition=auto
    warns "partition left alone, because --nodelist is given"
    for options in "-w cpu1-1" "-F nodes.txt"; do
        # shellcheck disable=SC2086
        run --separate-stderr dltime advise "${long#--dl-model=}" --conf "$(slurm_dltime_conf)" -- \
            --gres=gpu:1 $options --dl-partition=auto
        [[ $output == *"partition left alone, because --node"*" is given"* ]] || { echo "$output"; return 1; }
    done
    # Where the site says which nodes have the feature, it narrows the choice.
    conf_with '' "$(site v100 v100 'gpus_per_node = 4; features = "v100,big";')" \
        "$(site a100 a100 'gpus_per_node = 2; features = "a100,big";')"
    submit "${v100[@]}" --constraint=v100 "$long"
    [[ $stderr != *a100* ]]
}
