#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# What the plugin does to real submissions, read back with scontrol. The profiles are made from
# synthetic measurements: what is tested is what becomes of an estimate, not the estimate.

# shellcheck disable=SC2016 # the job's shell expands what stands in single quotes
# shellcheck disable=SC2030,SC2031 # each test has its own job
# shellcheck disable=SC2154 # source_dir is the helper's; run sets output, stderr and status

load helper

setup_file() {
    slurm_start || return 1
    # Not bats' own folder, which other users cannot enter.
    folder=$(mktemp -d /tmp/dltime-plugin-XXXXXX)
    chmod 755 "$folder"
    mkdir -m 700 "$folder/runtime"
    export folder XDG_RUNTIME_DIR=$folder/runtime
    cd "$folder" || return 1
    profile v100 "Synthetic V100" 1 900 16
    profile a100 "Synthetic A100" 4 3600 40
    profile p100 "Synthetic P100" 0.5 450 16
    profile cpu1 "Synthetic CPU" 0.05 20 8 1
    profile cpu2 "Synthetic CPU" 0.1 20 8 2
}

teardown_file() {
    rm -rf "$folder"
    slurm_stop
}

# profile NAME DEVICE TFLOPS GB_S MEMORY_GIB [THREADS]
profile() {
    "$source_dir/tests/slurm/synthetic_measurements" "${@:2}" >"$1.jsonl" &&
        dltime train "$1.jsonl" --output "$1.dlp" --method cost 2>/dev/null
}

setup() {
    cd "$folder" || return
    cat >mlp.json <<'END'
{ "name": "mlp", "input": [784],
  "layers": [ {"op": "dense", "out_features": 4096}, {"op": "relu"},
              {"op": "dense", "out_features": 4096}, {"op": "relu"},
              {"op": "dense", "out_features": 10} ],
  "training": {"samples": 60000, "batch": 512, "optimizer": "sgd"} }
END
    conf
}

# Writes dltime.conf: the settings given, then the partitions. The deadline is longer than a site's,
# because tests share their machine and one runs under valgrind.
conf() {
    local deadline="deadline = 20;"
    [[ $* != *deadline* ]] || deadline=
    cat >"$(slurm_dltime_conf)" <<END
snapshot_age = 0;
$deadline
$*
partitions = (
    { name = "v100"; device = "Synthetic V100"; profile = "$folder/v100.dlp"; gpus_per_node = 4; },
    { name = "a100"; device = "Synthetic A100"; profile = "$folder/a100.dlp"; gpus_per_node = 2; },
    { name = "p100"; device = "Synthetic P100"; profile = "$folder/p100.dlp"; gpus_per_node = 2; },
    { name = "cpu1"; profile = "$folder/cpu1.dlp"; cores_per_node = 1; },
    { name = "cpu2"; profile = "$folder/cpu2.dlp"; cores_per_node = 2; }
);
END
}

v100=(-p v100 --gres=gpu:1)
long=--dl-model=mlp.json,epochs=200

# submit ARGS...: held, so that nothing runs; sets job and stderr, stdout has to be the id alone.
submit() {
    run --separate-stderr sbatch --parsable --hold "$@" --wrap true
    ((status == 0)) || { echo "$stderr"; return 1; }
    [[ $output =~ ^[0-9]+$ ]] || { echo "stdout: $output"; return 1; }
    job=$output
}

limit() {
    seconds_of "$(job_field "$job" TimeLimit)"
}

# The limit that a partition gives to jobs without --time: MaxTime, seven days.
unchanged() {
    [[ $(job_field "$job" TimeLimit) == 7-00:00:00 ]]
}

changed() {
    [[ $(job_field "$job" TimeLimit) != 7-00:00:00 ]]
}

# warned_once TEXT: in one line of stderr, which is the only one of the plugin's.
warned_once() {
    [[ $(grep -c '^dltime: ' <<<"$stderr") == 1 ]] && [[ $stderr == *"dltime: warning: "*"$1"* ]]
}

@test "sets the time limit that it prints, in whole grains" {
    conf 'grain = "5m";'
    submit "${v100[@]}" "$long"
    [[ $stderr =~ "time limit set to "([0-9:-]+)" (v100)" ]]
    [[ $(limit) == "$(seconds_of "${BASH_REMATCH[1]}")" ]]
    (($(limit) % 300 == 0))
    (($(limit) < 7 * 86400))
}

@test "prints a row for each partition that could run the job, the chosen one starred" {
    submit "${v100[@]}" "$long"
    [[ $stderr == *"dltime: mlp: "*"200 epochs of 118 steps; 512 per GPU; float32"* ]]
    grep -q '^\* v100  *Synthetic V100 ' <<<"$stderr"
    grep -q '^  a100  *Synthetic A100 ' <<<"$stderr"
    [[ $stderr != *cpu1* ]]
}

@test "leaves a submission without --dl-model alone and silent" {
    submit "${v100[@]}"
    [[ -z $stderr ]]
    unchanged
}

@test "reads --dl-model from the script" {
    printf '#!/bin/sh\n#SBATCH %s\n#SBATCH -p v100 --gres=gpu:1\n' "$long" >job.sh
    run --separate-stderr sbatch --parsable --hold job.sh
    job=$output
    [[ $stderr == *"time limit set to"* ]]
    changed
}

@test "never changes the user's --time and warns when it is too short" {
    submit "${v100[@]}" "$long" --time=2
    [[ $(job_field "$job" TimeLimit) == 00:02:00 ]]
    [[ $stderr == *"warning: --time=00:02:00 is probably too short"*"probability of 100 %"* ]]
    submit "${v100[@]}" "$long" --time=5-00
    [[ $(job_field "$job" TimeLimit) == 5-00:00:00 ]]
    [[ $stderr != *warning* ]]
    SBATCH_TIMELIMIT=3 submit "${v100[@]}" "$long"
    [[ $(job_field "$job" TimeLimit) == 00:03:00 ]]
}

@test "names a better partition with the time that it saves" {
    submit "${v100[@]}" "$long"
    [[ $stderr =~ "on a100 it would run "[0-9a-z\ ]+" less: -p a100" ]]
    submit -p a100 --gres=gpu:1 "$long"
    [[ $stderr != *"less: -p"* ]]
}

@test "takes the slowest of several partitions" {
    submit -p p100 --gres=gpu:1 "$long"
    local slow
    slow=$(limit)
    submit -p a100,p100 --gres=gpu:1 "$long"
    [[ $(limit) == "$slow" ]]
}

@test "more GPUs make a shorter limit, however they are asked for" {
    local one two how
    submit "${v100[@]}" "$long"
    one=$(limit)
    submit -p v100 --gres=gpu:2 "$long"
    two=$(limit)
    ((two < one))
    for how in --gres=gpu:v100:2 --gpus=2 --gpus-per-node=2 "--gpus-per-task=1 -n 2" "-N 2 --gpus=2"; do
        # shellcheck disable=SC2086
        submit -p v100 $how "$long"
        # Two nodes may be slower than one.
        if [[ $how == -N* ]]; then (($(limit) >= two)); else [[ $(limit) == "$two" ]]; fi
    done
}

@test "a job that names no partition is judged by the default one" {
    submit --dl-model=mlp.json,epochs=1
    grep -q '^\* cpu1' <<<"$stderr"
    changed
}

@test "CPUs of a whole node count where the partition hands out whole nodes" {
    submit -p cpu1 --dl-model=mlp.json,epochs=1
    local one
    one=$(limit)
    submit -p cpu2 --dl-model=mlp.json,epochs=1
    (($(limit) < one))
}

@test "a profile of another number of CPUs only suggests" {
    cp "$(slurm_dltime_conf)" saved.conf
    sed 's/cpu2.dlp/cpu1.dlp/' saved.conf >"$(slurm_dltime_conf)"
    submit -p cpu2 --dl-model=mlp.json,epochs=1
    [[ $stderr == *'rests on "general"'* ]]
    unchanged
}

@test "a partition that dltime.conf does not describe is left alone" {
    cp "$(slurm_dltime_conf)" saved.conf
    grep -v 'name = "v100"' saved.conf >"$(slurm_dltime_conf)"
    submit "${v100[@]}" "$long"
    [[ $stderr == *"no estimate for v100"*"dltime.conf does not describe it"* ]]
    unchanged
}

@test "without partitions in dltime.conf their nodes are asked from Slurm" {
    printf 'snapshot_age = 0;\nprofile = "%s/v100.dlp";\n' "$folder" >"$(slurm_dltime_conf)"
    submit "${v100[@]}" "$long"
    [[ $stderr == *"no estimate for v100"*"Synthetic V100"* ]]
    submit -p v100 --gres=gpu:v100:1 "$long"
    unchanged
}

@test "another user's submission works with that user's rights" {
    ((EUID == 0)) || skip "needs root to become somebody else"
    local other=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    cp mlp.json private.json
    chmod 600 private.json
    run --separate-stderr "${other[@]}" env -u XDG_RUNTIME_DIR sbatch --parsable --hold "${v100[@]}" "$long" --wrap true
    ((status == 0))
    job=$output
    changed
    run "${other[@]}" env -u XDG_RUNTIME_DIR sbatch --hold "${v100[@]}" --dl-model=private.json,epochs=2 --wrap true
    ((status != 0))
    [[ $output == *"private.json: Permission denied"* ]]
}

@test "--dl-time=suggest and off set nothing" {
    submit "${v100[@]}" "$long" --dl-time=suggest
    unchanged
    [[ $stderr == *"would do"* ]]
    submit "${v100[@]}" "$long" --dl-time=off
    unchanged
    [[ $stderr != *limit\ set* ]]
}

@test "--dl-partition=auto chooses where the user named none" {
    submit --gres=gpu:1 "$long" --dl-partition=auto
    [[ $(job_field "$job" Partition) == a100 ]]
    changed
    submit "${v100[@]}" "$long" --dl-partition=auto
    [[ $(job_field "$job" Partition) == v100 ]]
}

@test "--deadline and --time-min keep the plugin's hands off the limit" {
    submit "${v100[@]}" "$long" --deadline=now+6days
    [[ $stderr == *"because --deadline is given"* ]]
    submit "${v100[@]}" "$long" --time-min=1
    [[ $stderr == *"because --time-min is given"* ]]
    unchanged
}

@test "a bad --dl-model is refused with a line that says how to mend it" {
    run --separate-stderr sbatch "${v100[@]}" --dl-model=resnet5 --wrap true
    ((status != 0))
    [[ $stderr == *'dltime: --dl-model: resnet5: '*'did you mean "resnet'* ]]
    [[ -z $output ]]
    printf '#!/bin/sh\n#SBATCH --dl-model=mlp.json,epoch=3\n' >job.sh
    run --separate-stderr sbatch job.sh
    ((status != 0))
    [[ $stderr == *'epochs'* ]]
    run srun "${v100[@]}" --dl-model=absent.json true
    ((status != 0))
    run sbatch "${v100[@]}" "$long" --dl-time=perhaps --wrap true
    ((status != 0))
    [[ $output == *'--dl-time takes set|suggest|off, not "perhaps"'* ]]
}

@test "a bad DL_MODEL costs one warning, a good one counts like the option" {
    DL_MODEL=resnet5 submit "${v100[@]}"
    warned_once "DL_MODEL: resnet5"
    unchanged
    DL_MODEL=mlp.json,epochs=10 submit "${v100[@]}"
    [[ $stderr == *"10 epochs"* ]]
    changed
    DL_MODEL=mlp.json,epochs=10 submit "${v100[@]}" "$long"
    [[ $stderr == *"200 epochs"* ]]
}

@test "a missing profile costs one warning" {
    cp "$(slurm_dltime_conf)" saved.conf
    sed 's/v100.dlp/absent.dlp/' saved.conf >"$(slurm_dltime_conf)"
    submit "${v100[@]}" "$long"
    [[ $(grep -c warning <<<"$stderr") == 1 ]]
    [[ $stderr == *"no estimate for v100"*"absent.dlp"* ]]
    unchanged
}

@test "a missing, a broken and an open configuration cost one warning each" {
    local file
    file=$(slurm_dltime_conf)
    rm "$file"
    submit "${v100[@]}" "$long"
    warned_once "$file: No such file"
    unchanged
    echo 'confidense = 0.9;' >"$file"
    submit "${v100[@]}" "$long"
    warned_once "did you mean confidence?"
    unchanged
    conf
    chmod 666 "$file"
    submit "${v100[@]}" "$long"
    warned_once "others may write to it"
    unchanged
    rm "$file"
}

@test "an advise.so of another build, and one that others could replace, cost one warning each" {
    local stack=$SLURM_DEV_ROOT/etc/plugstack.conf kept
    kept=$(<"$stack")
    mkdir -m 777 open
    gcc -shared -fPIC -x c - -o open/advise.so <<<'int dltime_advise(void *call) { return call ? 1 : 0; }'
    echo "$kept advise=$folder/open/advise.so" >"$stack"
    submit "${v100[@]}" "$long"
    warned_once "$folder/open: others may write to it"
    unchanged
    chmod 755 open
    submit "${v100[@]}" "$long"
    warned_once "are of different builds"
    unchanged
    echo "$kept" >"$stack"
}

@test "weak evidence only suggests" {
    conf 'set_requires = "measured";'
    submit -p v100 --gres=gpu:1 --dl-model=resnet50,batch=32,epochs=2,samples=100000
    [[ $stderr == *"less than this site requires"* ]]
    unchanged
}

@test "an inherited option value does not count" {
    export SLURM_SPANK__SLURM_SPANK_OPTION_dltime_dl_model=mlp.json,epochs=1
    export _SLURM_SPANK_OPTION_dltime_dl_model=mlp.json,epochs=1
    submit "${v100[@]}"
    [[ -z $stderr ]]
    unchanged
}

@test "a job inside a job is a submission of its own, a step is nothing" {
    cat >outer.sh <<'END'
#!/bin/sh
srun --dl-model=resnet5 printenv DLTIME_PARTITION
sbatch --parsable -p v100 --gres=gpu:1 --hold --wrap true
END
    run --separate-stderr sbatch --parsable "${v100[@]}" "$long" -o outer.out outer.sh
    [[ $(wait_job "$output") == COMPLETED ]]
    cat outer.out
    [[ $(sed -n 1p outer.out) == v100 ]]
    [[ $(wc -l <outer.out) == 2 ]]
    job=$(sed -n 2p outer.out)
    unchanged
}

@test "the job is told, also with --export=NONE" {
    local told
    run --separate-stderr sbatch --parsable "${v100[@]}" "$long" -o told.out --wrap 'env'
    [[ $(wait_job "$output") == COMPLETED ]]
    for told in ESTIMATE_S LIMIT_S STEP_S EPOCH_S PARTITION=v100 BASIS VERSION; do
        grep -q "^DLTIME_$told" told.out
        grep -q "^SLURM_DLTIME_$told" told.out
    done
    [[ $(sed -n 's/^DLTIME_LIMIT_S=//p' told.out) == "$(seconds_of "$(job_field "$output" TimeLimit)")" ]]
    run --separate-stderr sbatch --parsable "${v100[@]}" "$long" -o told.out --export=NONE --wrap 'env'
    [[ $(wait_job "$output") == COMPLETED ]]
    grep -q "^SLURM_DLTIME_LIMIT_S" told.out
    run ! grep -q "^DLTIME" told.out
}

@test "salloc and srun set the limit as well" {
    run --separate-stderr salloc -Q "${v100[@]}" "$long" sh -c 'squeue -h -j $SLURM_JOB_ID -o %l'
    ((status == 0))
    [[ $output != 7-00:00:00 ]]
    run --separate-stderr srun "${v100[@]}" "$long" sh -c 'squeue -h -j $SLURM_JOB_ID -o %l'
    ((status == 0))
    [[ $output != 7-00:00:00 ]]
    [[ $stderr == *"time limit set to"* ]]
}

@test "each component of a heterogeneous job has its own network or none" {
    run --separate-stderr sbatch --parsable --hold "${v100[@]}" "$long" : -p a100 --gres=gpu:1 --wrap true
    ((status == 0))
    [[ $(grep -c 'time limit set' <<<"$stderr") == 1 ]]
    [[ $(job_field "$output+0" TimeLimit) != 7-00:00:00 ]]
    [[ $(job_field "$output+1" TimeLimit) == 7-00:00:00 ]]
    run --separate-stderr sbatch --parsable --hold -p p100 --gres=gpu:1 "$long" : \
        -p a100 --gres=gpu:1 "$long" --wrap true
    (($(seconds_of "$(job_field "$output+0" TimeLimit)") > $(seconds_of "$(job_field "$output+1" TimeLimit)")))
}

@test "a submission under valgrind shows no misuse of memory" {
    command -v valgrind >/dev/null || skip "valgrind is not installed"
    run valgrind -q --error-exitcode=99 sbatch --hold -p v100 --gres=gpu:1 "$long" : \
        -p a100 --gres=gpu:1 "$long" : -p p100 --gres=gpu:1 --wrap true
    [[ $output == *"time limit set to"* ]]
    [[ $output != *"Invalid"* ]]
    ((status == 0))
}

@test "-Q leaves warnings only" {
    run --separate-stderr sbatch -Q --hold -J quiet "${v100[@]}" "$long" --wrap true
    ((status == 0))
    [[ -z $output$stderr ]]
    job=$(squeue -h -n quiet -o %i)
    changed
    run --separate-stderr sbatch -Q --hold "${v100[@]}" "$long" --time=1 --wrap true
    [[ $(grep -c . <<<"$stderr") == 1 ]]
    [[ $stderr == "dltime: warning: --time=00:01:00"* ]]
}

@test "a controller that does not answer costs the deadline and one warning" {
    local pid
    conf 'deadline = 0.5;'
    pid=$(cat "$SLURM_DEV_ROOT/run/slurmctld.pid")
    kill -STOP "$pid"
    sbatch --parsable --hold "${v100[@]}" "$long" --wrap true >out 2>err 3>&- &
    local submission=$!
    sleep 1.5
    cp err early
    kill -CONT "$pid"
    wait "$submission"
    [[ $(cat early) == *"warning: Slurm's controller did not answer within 0.5 s"* ]]
    job=$(cat out)
    unchanged
}

@test "a snapshot is reused for as long as the site says" {
    conf
    sed -i 's/snapshot_age = 0/snapshot_age = 60/' "$(slurm_dltime_conf)"
    submit "${v100[@]}" "$long"
    local pid
    pid=$(cat "$SLURM_DEV_ROOT/run/slurmctld.pid")
    kill -STOP "$pid"
    sbatch --parsable --hold "${v100[@]}" "$long" --wrap true >out 2>err 3>&- &
    local submission=$!
    sleep 1
    cp err early
    kill -CONT "$pid"
    wait "$submission"
    [[ $(cat early) == *"time limit set to"* ]]
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
