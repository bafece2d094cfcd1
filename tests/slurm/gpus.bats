#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Every way of asking for GPUs and CPUs comes to the right number of devices. A training on twice as
# many devices makes half the steps, so that the epoch's steps in the headline tell the number.

# shellcheck disable=SC2030,SC2031 # each test has its own job
# shellcheck disable=SC2086 # options with spaces between them

load plugin

setup_file() { plugin_start; }
teardown_file() { plugin_stop; }
setup() { plugin_setup; }

# 60000 samples in steps of 512 for each device: 118 steps on one, 59 on two, 30 on four, 15 on
# eight; ceil(60000 / (512 devices)).
devices() { # COUNT
    local -A steps=([1]=118 [2]=59 [4]=30 [8]=15)
    says "epochs of ${steps[$1]} steps" && set_as_said
}

# What was just submitted, with the same options to dltime advise: the same table and limit.
advised() { # OPTION...
    local said
    said=${stderr/ set to/ would be set to}
    run --separate-stderr dltime advise "${long#--dl-model=}" --conf "$(slurm_dltime_conf)" -- "$@"
    diff <(echo "$said") <(echo "$output")
}

@test "untyped and typed, by gres and by every --gpus option" {
    local how
    for how in --gres=gpu:2 --gres=gpu:v100:2 --gpus=2 --gpus=v100:2 -G2 --gpus-per-node=2 \
        --gpus-per-node=v100:2 "--gpus-per-task=1 -n 2" "--gpus-per-task=v100:1 -n 2" \
        "--gpus-per-socket=2 --sockets-per-node=1" "--gpus-per-socket=v100:2 --sockets-per-node=1" \
        "--gpus-per-task=2 -n 1" "--gres=gpu:2 -n 8"; do
        submit -p v100 $how "$long" || { echo "$how"; return 1; }
        devices 2 && advised -p v100 $how || { echo "$how"; return 1; }
    done
}

@test "with nodes and tasks" {
    local how
    for how in "-N 2 --gres=gpu:2" "-N 2 --gpus=4" "-N 2 --gpus-per-node=v100:2" \
        "-N 2 --ntasks-per-node=2 --gpus-per-task=1" "-N 2 -n 4 --gpus-per-task=1" "--gpus=4" \
        "-N 2 --gpus-per-socket=2 --sockets-per-node=1" "--gpus-per-task=1 -n 4 -c 2" \
        "--gpus=4 --gpus-per-node=2"; do
        submit -p v100 $how "$long" || { echo "$how"; return 1; }
        devices 4 && advised -p v100 $how || { echo "$how"; return 1; }
    done
    # Eight GPUs need both nodes.
    for how in --gpus=8 "-N 1-2 --gpus=8"; do
        submit -p v100 $how "$long"
        devices 8 && advised -p v100 $how || { echo "$how"; return 1; }
    done
}

@test "more GPUs make a shorter limit" {
    local one
    submit "${v100[@]}" "$long"
    one=$(limit)
    submit -p v100 --gres=gpu:2 "$long"
    (($(limit) < one))
}

@test "devices= in --dl-model takes fewer than are allocated" {
    submit -p v100 --gres=gpu:4 "$long",devices=2
    devices 2
}

@test "a job without a GPU on a GPU partition is told so" {
    submit -p v100 "$long"
    warns "the job asks for no GPU; add --gres=gpu:1"
    unchanged
}

@test "what a partition has not is no candidate" {
    conf_with '' "$(site v100 v100 'gpus_per_node = 4; gpu_type = "v100";')" \
        "$(site a100 a100 'gpus_per_node = 2; gpu_type = "a100";')" "$(site cpu1)"
    submit --gres=gpu:4 "$long"
    says "the default partition could not run the job as it is asked for"
    [[ $stderr != *"a100 "* ]]
    run sbatch --hold -p a100 --gres=gpu:v100:1 "$long" --wrap true
    [[ $output == *"what the job asks for does not match -p a100; nothing is changed"* ]]
}

@test "CPUs of a whole node count where the partition hands out whole nodes" {
    submit -p cpu1 --dl-model=mlp.json,epochs=1
    local one
    one=$(limit)
    submit -p cpu2 --dl-model=mlp.json,epochs=1
    (($(limit) < one))
}

@test "cpus-per-task times tasks, and threads that the profile has not" {
    slurm_add "PartitionName=shared Nodes=cpu2-1 MaxTime=7-00:00:00"
    conf_with '' "$(site shared cpu2 'cores_per_node = 2;')"
    local how
    for how in "-c 2" "-n 2" "--ntasks-per-node=2" --exclusive; do
        submit -p shared $how --dl-model=mlp.json,epochs=1
        set_as_said || { echo "$how"; return 1; }
    done
    # One of the two threads that were measured.
    submit -p shared -c 1 --dl-model=mlp.json,epochs=1
    says 'rests on "general"'
    unchanged
    slurm_reset
}

@test "MIG slices are devices of their own" {
    local conf=$SLURM_DEV_ROOT/etc
    cp "$conf/gres.conf" gres.kept
    sed -i 's/^NodeName=a100-1 .*/NodeName=a100-1 Name=gpu Type=1g.10gb File='"${conf//\//\\/}"'\/..\/dev\/gpu[0-1]/' "$conf/gres.conf"
    cp "$conf/slurm.conf" "$conf/slurm.conf.kept"
    sed -i 's/gpu:a100:2/gpu:1g.10gb:2/' "$conf/slurm.conf"
    scontrol reconfigure
    conf_with '' "$(site v100 v100 'gpus_per_node = 4; gpu_type = "v100";')" \
        "$(site a100 p100 'gpus_per_node = 2; gpu_type = "1g.10gb"; memory_gib = 10;')"
    submit -p a100 --gres=gpu:1g.10gb:1 "$long"
    grep -q '^\* a100  *Synthetic P100 .*/10 GiB' <<<"$stderr"
    [[ $stderr != *v100* ]]
    set_as_said
    submit -p a100 --gpus=1g.10gb:2 "$long"
    devices 2
    run sbatch --hold -p a100 --gres=gpu:a100:1 "$long" --wrap true
    [[ $output == *"no partition could run the job as it is asked for"* ]]
    cp gres.kept "$conf/gres.conf"
    slurm_reset
}

@test "the slowest kind of a partition of mixed GPUs counts, and a type or a feature narrows it" {
    local slow
    slurm_add "PartitionName=mixed Nodes=v100-1,a100-1,p100-1 MaxTime=7-00:00:00"
    conf_with '' "$(site mixed v100 'gpus_per_node = 4; gpu_type = "v100"; nodes = 1; features = "v100";')" \
        "$(site mixed a100 'gpus_per_node = 2; gpu_type = "a100"; nodes = 1; features = "a100";')" \
        "$(site mixed p100 'gpus_per_node = 2; gpu_type = "p100"; nodes = 1; features = "p100,old";')"
    submit -p p100 --gres=gpu:1 "$long"
    submit -p mixed --gres=gpu:1 "$long"
    [[ $(grep -c '^\* mixed' <<<"$stderr") == 3 ]]
    set_as_said
    slow=$(limit)
    submit -p mixed --gres=gpu:a100:1 "$long"
    [[ $(grep -c '^\* mixed' <<<"$stderr") == 1 ]]
    set_as_said
    (($(limit) < slow / 2))
    submit -p mixed --gres=gpu:1 --constraint=a100 "$long"
    [[ $(grep -c '^\* mixed' <<<"$stderr") == 1 ]]
    set_as_said
    (($(limit) < slow / 2))
    advised -p mixed --gres=gpu:1 -C a100
    # Of two nodes one may be of each kind.
    submit -p mixed -N 2 --gres=gpu:1 "$long"
    [[ $(grep -c '^\* mixed' <<<"$stderr") == 3 ]]
    set_as_said
    # Eight GPUs are all that there are, and the p100's two the slowest.
    submit -p mixed --gpus=8 "$long"
    [[ $(grep -c '^\* mixed' <<<"$stderr") == 3 ]]
    set_as_said
    # Where nobody says how many there are of each, there are three in all.
    sed -i 's/ nodes = 1;//' "$(slurm_dltime_conf)"
    run dltime advise "${long#--dl-model=}" --conf "$(slurm_dltime_conf)" -- -p mixed -N 4 --gres=gpu:1
    [[ $output == *"no partition could run the job as it is asked for"* ]]
    # More than dltime understands: the slowest still counts.
    submit -p mixed --gres=gpu:1 "--constraint=a100|v100" "$long"
    [[ $(grep -c '^\* mixed' <<<"$stderr") == 3 ]]
    [[ $(limit) == "$slow" ]]
    slurm_reset
}

@test "without partitions in dltime.conf their nodes are asked from Slurm" {
    printf 'snapshot_age = 0;\ndeadline = 20;\nprofile = "%s/v100.dlp";\n' "$folder" >"$(slurm_dltime_conf)"
    submit "${v100[@]}" "$long"
    warns "no estimate for v100"
    says "Synthetic V100"
    submit -p v100 --gres=gpu:v100:1 "$long"
    unchanged
}
