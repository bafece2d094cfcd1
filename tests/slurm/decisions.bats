#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# What is set, suggested and warned of, with the figures in the message. tests/unit/
# test_advise_policy.c has every combination; here they arrive at real jobs.

# shellcheck disable=SC2030,SC2031 # each test has its own job

load plugin

setup_file() { plugin_start; }
teardown_file() { plugin_stop; }
setup() { plugin_setup; }

@test "sets the time limit that it prints, in whole grains" {
    conf 'grain = "5m";'
    submit "${v100[@]}" "$long"
    set_as_said
    (($(limit) % 300 == 0))
}

@test "prints a row for each partition that could run the job, the chosen one starred" {
    submit "${v100[@]}" "$long"
    says "dltime: mlp: 20 M parameters; 200 epochs of 118 steps; 512 per GPU; float32"
    grep -q '^\* v100  *Synthetic V100 ' <<<"$stderr"
    grep -q '^  a100  *Synthetic A100 ' <<<"$stderr"
    [[ $stderr != *cpu1* ]]
}

@test "never changes the user's --time and warns when it is too short" {
    submit "${v100[@]}" "$long" --time=2
    [[ $(job_field "$job" TimeLimit) == 00:02:00 ]]
    [[ $stderr =~ "warning: --time=00:02:00 is probably too short: on v100 the job takes about 00:23:2"[0-9]" and runs longer than that with a probability of 100 %; --time=00:38:00 would do" ]]
    submit "${v100[@]}" "$long" --time=5-00
    [[ $(job_field "$job" TimeLimit) == 5-00:00:00 ]]
    [[ $stderr != *warning* ]]
    submit "${v100[@]}" "$long" --time=UNLIMITED
    [[ $(job_field "$job" TimeLimit) == UNLIMITED ]]
    says "the unlimited --time is left as it is"
}

@test "names a better partition with the time that it saves" {
    submit "${v100[@]}" "$long"
    [[ $stderr =~ "on a100 it would run "[0-9a-z\ ]+" less: -p a100" ]]
    submit -p a100 --gres=gpu:1 "$long"
    [[ $stderr != *"less: -p"* ]]
    submit "${v100[@]}" "$long" --dl-partition=off
    [[ $stderr != *"less: -p"* ]]
}

@test "--dl-time=suggest and off set nothing" {
    submit "${v100[@]}" "$long" --dl-time=suggest
    unchanged
    says "would do"
    submit "${v100[@]}" "$long" --dl-time=off
    unchanged
    [[ $stderr != *limit\ set* ]]
    conf 'dl_time = "suggest";'
    submit "${v100[@]}" "$long"
    unchanged
    submit "${v100[@]}" "$long" --dl-time=set
    set_as_said
}

@test "--deadline, --time-min and --reservation keep the plugin's hands off the limit" {
    submit "${v100[@]}" "$long" --deadline=now+6days
    warns "because --deadline is given; --time=00:38:00 would do"
    submit "${v100[@]}" "$long" --time-min=1
    warns "because --time-min is given"
    unchanged
    need_root
    scontrol create reservation ReservationName=course Nodes=v100-2 StartTime=now Duration=1-0 Users=root
    submit "${v100[@]}" "$long" --reservation=course
    warns "because --reservation is given"
    unchanged
    scancel "$job"
    submit --gres=gpu:1 "$long" --time-min=1 --dl-partition=auto
    warns "partition left alone, because --time-min is given"
    in_partition cpu1
    scontrol delete ReservationName=course
}

@test "--clusters: this cluster's partitions say nothing" {
    # There is no database to send the job elsewhere: sbatch itself refuses afterwards.
    run --separate-stderr sbatch --hold -M elsewhere --gres=gpu:1 "$long" --wrap true
    [[ $(grep -c '^dltime: ' <<<"$stderr") == 1 ]]
    warns "nothing is set, because --clusters is given"
    run dltime advise "${long#--dl-model=}" --conf "$(slurm_dltime_conf)" -- -M elsewhere --gres=gpu:1
    [[ $output == *"nothing is set, because --clusters is given"* ]]
}

@test "a job above every MaxTime is left alone, with the figures of what would do" {
    submit "${v100[@]}" "$endless"
    unchanged
    warns "time limit left alone: the job takes about 16-"
    says "and the longest that v100 allows is 7-00:00:00; write checkpoints and requeue (3 runs), or take 8 GPUs (about 2-"
    [[ $stderr =~ "; on a100 it would run "[0-9a-z\ ]+" less: -p a100" ]]
    submit "${v100[@]}" "$endless" --time=1-0
    [[ $(job_field "$job" TimeLimit) == 1-00:00:00 ]]
    warns "the longest that v100 allows is 7-00:00:00: write checkpoints and requeue (17 runs)"
}

@test "max_limit caps what is set, and the odds are said" {
    conf 'max_limit = "30m";'
    submit "${v100[@]}" "$long"
    [[ $(limit) == 1800 ]]
    [[ $stderr =~ "the longest that v100 allows is 00:30:00, and the job (about 00:23:2"[0-9]") runs longer than that with a probability of "[0-9]+" %" ]]
    set_as_said
}

@test "memory that does not suffice is a warning with the batch that fits" {
    submit "${v100[@]}" --dl-model=vgg16,batch=1024,samples=100000,epochs=1 --dl-time=off
    warns "the training needs about"
    says "which has 16 GiB: batch=128,accumulate=8 fits"
    submit "${v100[@]}" --dl-model=vgg16,batch=4096,samples=100000,epochs=1 --dl-time=off
    says "; no other partition here has devices large enough"
    submit "${v100[@]}" --dl-model=vgg16,batch=128,accumulate=8,samples=100000,epochs=1 --dl-time=off
    [[ $stderr != *"the training needs"* ]]
}

@test "weak evidence only suggests, and never under DefaultTime" {
    conf 'set_requires = "measured";'
    submit "${v100[@]}" --dl-model=resnet50,batch=32,epochs=2,samples=100000
    says "less than this site requires"
    unchanged
    slurm_add "PartitionName=usual Nodes=v100-2 DefaultTime=2-00:00:00 MaxTime=7-00:00:00"
    conf_with 'set_requires = "measured";' "$(site usual v100 'gpus_per_node = 4;')"
    submit -p usual --gres=gpu:1 --dl-model=resnet18,batch=32,steps=10
    says "--time=2-00:00:00 would do"
    [[ $(job_field "$job" TimeLimit) == 2-00:00:00 ]]
    slurm_reset
}

@test "a training of unknown length leaves the limit and says what is missing" {
    submit "${v100[@]}" --dl-model=resnet50,batch=32
    unchanged
    warns "add epochs= and samples=, or steps="
}

@test "a profile of another number of CPUs only suggests" {
    conf_with '' "$(site cpu2 cpu1 'cores_per_node = 2;')"
    submit -p cpu2 --dl-model=mlp.json,epochs=1
    says 'rests on "general"'
    unchanged
}

@test "a partition that dltime.conf does not describe is left alone" {
    conf_with '' "$(site a100 a100 'gpus_per_node = 2;')"
    submit "${v100[@]}" "$long"
    warns "no estimate for v100"
    says "dltime.conf does not describe it"
    unchanged
}

@test "CPUs that were not measured are told so, not which cards general.dlp has" {
    conf_with '' '{ name = "cpu1"; cores_per_node = 1; }'
    submit -p cpu1 "$long"
    warns "no estimate for cpu1, so the time limit is left alone: dltime.conf names no profile for it"
    unchanged
}

@test "nothing but time and partition is changed" {
    local with without field
    submit "${v100[@]}" "$long" -J same --comment=mine
    with=$(scontrol show job -o "$job")
    submit "${v100[@]}" -J same --comment=mine --time="$(job_field "$job" TimeLimit)"
    without=$(scontrol show job -o "$job")
    for field in JobId SubmitTime EligibleTime AccrueTime LastSchedEval Priority; do
        with=$(sed -E "s/ ?$field=[^ ]*//" <<<"$with")
        without=$(sed -E "s/ ?$field=[^ ]*//" <<<"$without")
    done
    diff <(tr ' ' '\n' <<<"$with" | grep -v 'slurm-[0-9]*.out') \
        <(tr ' ' '\n' <<<"$without" | grep -v 'slurm-[0-9]*.out')
}

@test "dltime advise prints the same table and submits nothing" {
    local before
    before=$(squeue -h -a | wc -l)
    submit "${v100[@]}" "$long"
    run --separate-stderr dltime advise mlp.json,epochs=200 --conf "$(slurm_dltime_conf)" -- "${v100[@]}"
    ((status == 0))
    [[ $(squeue -h -a | wc -l) == $((before + 1)) ]]
    [[ $output == *"time limit would be set to $(job_field "$job" TimeLimit)"* ]]
    [[ $(grep -c . <<<"$output") == 6 ]]
}

@test "dltime advise refuses what sbatch would, and a missing SPEC" {
    run dltime advise
    ((status == 2))
    run dltime advise mlp.json -- --gres=gpu:v100:many
    ((status == 2))
    [[ $output == *'--gres: "gpu:v100:many"'* ]]
    run dltime advise resnet5 --conf "$(slurm_dltime_conf)"
    ((status == 1))
}

@test "dltime advise says so where Slurm has no configuration" {
    [[ ! -e /etc/slurm/slurm.conf ]] || skip "this machine has a Slurm of its own"
    run env -u SLURM_CONF dltime advise mlp.json,epochs=2
    ((status == 1))
    [[ $output == *"found no Slurm configuration; set SLURM_CONF"* ]]
}

@test "a partition that is none is answered with those that there are" {
    run --separate-stderr dltime advise mlp.json,epochs=2 --conf "$(slurm_dltime_conf)" -- -p nix
    [[ $output == *"warning: there is no partition nix; there are v100, a100, p100, cpu1, cpu2" ]]
}

@test "examples of spank_dltime(8), dltime.conf(5), dltime-snapshot(8) and the user's guide run" {
    examples() {
        local page
        for page in "$@"; do
            "$source_dir/tests/examples" "$source_dir/man/$page" |
                sed -e 's/^sbatch/& --hold/' -e "s#^dltime advise .DL_MODEL#& --conf $(slurm_dltime_conf)#" >script
            bash -euxo pipefail script >said 2>&1 || { cat said && return 1; }
        done
    }
    mkdir -p examples && cd examples
    cp "$source_dir/etc/profiles/tesla-v100-sxm2-16gb.tensorflow.dlp" v100.dlp
    cp ../cpu1.dlp cpu.dlp
    printf '#!/bin/sh\n' >train.sh
    examples dltime.conf.5
    grep -q -- '--time=.* would do (v100)' said || { cat said && return 1; }
    examples spank_dltime.8 dltime-snapshot.8
    "$source_dir/tests/examples" "$source_dir/docs/user.md" | grep 'sbatch ' |
        sed 's/sbatch/& --hold/' >script
    (($(wc -l <script) >= 2))
    cp "$source_dir/etc/examples/train.sh" .
    bash -euxo pipefail script >said 2>&1 || { cat said && return 1; }
    grep -q 'dltime: resnet50: 25.6 M parameters' said || { cat said && return 1; }
    # On a fresh installation, with partitions and nothing else in dltime.conf, the guide's first
    # submission gets a limit.
    conf_with '' '{ name = "v100"; gpus_per_node = 4; gpu_type = "v100"; }' \
        '{ name = "a100"; gpus_per_node = 2; gpu_type = "a100"; }'
    head -n 1 script >first
    bash -euxo pipefail first >said 2>&1 || { cat said && return 1; }
    grep -q '^dltime: time limit set to .* (v100); on a100 it would run .* min less: -p a100$' said ||
        { cat said && return 1; }
}
