#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Every way of submitting a job: the command line, scripts, standard input, salloc, srun, jobs inside
# jobs, arrays, heterogeneous jobs, scrontab.

# shellcheck disable=SC2016 # the job's shell expands what stands in single quotes
# shellcheck disable=SC2030,SC2031 # each test has its own job

load plugin

setup_file() { plugin_start; }
teardown_file() { plugin_stop; }
setup() { plugin_setup; }

@test "leaves a submission without --dl-model alone and silent" {
    submit "${v100[@]}"
    [[ -z $stderr ]]
    unchanged
}

@test "--wrap: sets the limit that it prints" {
    submit "${v100[@]}" "$long"
    set_as_said
    (($(limit) < 7 * 86400))
}

@test "#SBATCH: --dl-model is read from the script, and the command line's goes before it" {
    printf '#!/bin/sh\n#SBATCH %s\n#SBATCH -p v100 --gres=gpu:1\n' "$long" >job.sh
    submitted sbatch --hold job.sh
    says "200 epochs"
    set_as_said
    submitted sbatch --hold --dl-model=mlp.json,epochs=100 job.sh
    says "100 epochs"
    set_as_said
}

@test "#SBATCH: options behind the first command do not count" {
    printf '#!/bin/sh\ntrue\n#SBATCH %s\n' "$long" >job.sh
    submitted sbatch --hold "${v100[@]}" job.sh
    [[ -z $stderr ]]
    unchanged
}

@test "a script from standard input" {
    printf '#!/bin/sh\n#SBATCH %s\n' "$long" >job.sh
    run --separate-stderr sbatch --parsable --hold "${v100[@]}" <job.sh
    job=$output
    set_as_said
}

@test "--parsable prints the id alone" {
    run --separate-stderr sbatch --parsable --hold "${v100[@]}" "$long" --wrap true
    [[ $output =~ ^[0-9]+$ ]]
    says "time limit set to"
}

@test "--test-only prints the advice and submits nothing" {
    local before
    before=$(squeue -h -a | wc -l)
    run --separate-stderr sbatch --test-only "${v100[@]}" "$long" --wrap true
    ((status == 0))
    [[ -z $output ]]
    says "time limit set to"
    says "to start at"
    [[ $(squeue -h -a | wc -l) == "$before" ]]
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

@test "-v says what the plugin was built for" {
    run --separate-stderr sbatch -v --hold --wrap true
    [[ $stderr =~ "dltime "[0-9.]+", built for Slurm "[0-9]+\.[0-9]+ ]]
    run srun --help
    [[ $(tr -s ' \n' ' ' <<<"$output") =~ "(dltime "[0-9.]+" for Slurm "[0-9]+\.[0-9]+")" ]]
}

@test "salloc and srun set the limit as well" {
    run --separate-stderr salloc "${v100[@]}" "$long" sh -c 'squeue -h -j $SLURM_JOB_ID -o %l'
    ((status == 0))
    says "time limit set to"
    [[ -n $output && $output != 7-00:00:00 ]]
    run --separate-stderr srun "${v100[@]}" "$long" sh -c 'squeue -h -j $SLURM_JOB_ID -o %l'
    ((status == 0))
    says "time limit set to"
    [[ -n $output && $output != 7-00:00:00 ]]
}

@test "a step is nothing, even with a bad --dl-model" {
    run --separate-stderr salloc -Q "${v100[@]}" srun --dl-model=resnet5 echo finished
    ((status == 0))
    [[ $output == finished ]]
    [[ $stderr != *dltime* ]]
    run --separate-stderr salloc -Q "${v100[@]}" sh -c 'SLURM_JOB_ID= ; srun --jobid=$SLURM_JOBID --dl-model=mlp.json,epochs=2 echo finished'
    [[ $stderr != *dltime* ]]
}

@test "a job inside a job is a submission of its own" {
    cat >outer.sh <<'END'
#!/bin/sh
srun --dl-model=resnet5 printenv DLTIME_PARTITION
sbatch --parsable -p v100 --gres=gpu:1 --hold --wrap true
sbatch --parsable -p v100 --gres=gpu:1 --hold --dl-model=mlp.json,epochs=100 --wrap true
END
    submitted sbatch --parsable "${v100[@]}" "$long" -o outer.out -e outer.err outer.sh
    [[ $(wait_job "$output") == COMPLETED ]]
    cat outer.out outer.err
    [[ $(sed -n 1p outer.out) == v100 ]]
    [[ $(wc -l <outer.out) == 3 ]]
    job=$(sed -n 2p outer.out)
    unchanged
    job=$(sed -n 3p outer.out)
    stderr=$(cat outer.err)
    says "100 epochs"
    set_as_said
}

@test "an inherited option value does not count" {
    export SLURM_SPANK__SLURM_SPANK_OPTION_dltime_dl_model=mlp.json,epochs=1
    export _SLURM_SPANK_OPTION_dltime_dl_model=mlp.json,epochs=1
    submit "${v100[@]}"
    [[ -z $stderr ]]
    unchanged
}

@test "each task of an array gets the limit" {
    submitted sbatch --parsable --hold --array=1-3 "${v100[@]}" "$long" --wrap true
    set_as_said
    [[ $(job_field "${job}_2" TimeLimit) == "$(job_field "$job" TimeLimit)" ]]
}

@test "each component of a heterogeneous job has its own network or none" {
    run --separate-stderr sbatch --parsable --hold "${v100[@]}" "$long" : -p a100 --gres=gpu:1 --wrap true
    ((status == 0))
    [[ $(grep -c 'time limit set' <<<"$stderr") == 1 ]]
    [[ $(job_field "$output+0" TimeLimit) != 7-00:00:00 ]]
    [[ $(job_field "$output+1" TimeLimit) == 7-00:00:00 ]]
    run --separate-stderr sbatch --parsable --hold "${v100[@]}" : -p a100 --gres=gpu:1 "$long" --wrap true
    ((status == 0))
    [[ $(job_field "$output+0" TimeLimit) == 7-00:00:00 ]]
    [[ $(job_field "$output+1" TimeLimit) != 7-00:00:00 ]]
    run --separate-stderr sbatch --parsable --hold -p p100 --gres=gpu:1 "$long" : \
        -p a100 --gres=gpu:1 "$long" --wrap true
    (($(seconds_of "$(job_field "$output+0" TimeLimit)") > $(seconds_of "$(job_field "$output+1" TimeLimit)")))
    # A partition that was chosen for one component is not the next one's.
    run --separate-stderr sbatch --parsable --hold --gres=gpu:1 "$long" --dl-partition=auto : \
        -p v100 --gres=gpu:1 "$long" --wrap true
    [[ $(job_field "$output+0" Partition) == a100 ]]
    [[ $(job_field "$output+1" Partition) == v100 ]]
}

@test "scrontab: a bad --dl-model is refused, a good one is submitted unchanged" {
    command -v scrontab >/dev/null || skip "no scrontab here"
    slurm_add ScronParameters=enable
    printf '#SCRON --dl-model=resnet5\n0 0 1 1 * true\n' >tab
    run scrontab tab
    ((status != 0))
    [[ $output == *'did you mean "resnet'* ]]
    printf '#SCRON -J later -p v100 --gres=gpu:1 %s\n0 0 1 1 * true\n' "$long" >tab
    run scrontab tab
    echo "$output"
    ((status == 0))
    job=$(squeue -h -n later -o %i)
    unchanged
    scrontab -r
    slurm_reset
}

@test "DL_MODEL stands in for the option, which goes before it" {
    DL_MODEL=mlp.json,epochs=10 submit "${v100[@]}"
    says "10 epochs"
    set_as_said
    DL_MODEL=mlp.json,epochs=10 submit "${v100[@]}" "$long"
    says "200 epochs"
    DL_MODEL='' submit "${v100[@]}"
    [[ -z $stderr ]]
    unchanged
}

@test "defaults from the environment are the user's own" {
    SBATCH_TIMELIMIT=3 submit "${v100[@]}" "$long"
    [[ $(job_field "$job" TimeLimit) == 00:03:00 ]]
    SBATCH_PARTITION=p100 submit --gres=gpu:1 "$long" --dl-partition=auto
    says "-p p100 is left as it is"
    in_partition p100
    run --separate-stderr env SLURM_TIMELIMIT=3 srun "${v100[@]}" "$long" sh -c 'squeue -h -j $SLURM_JOB_ID -o %l'
    [[ $output == 3:00 ]]
    run --separate-stderr env SALLOC_TIMELIMIT=3 salloc "${v100[@]}" "$long" sh -c 'squeue -h -j $SLURM_JOB_ID -o %l'
    [[ $output == 3:00 ]]
}

@test "a relative SPEC is looked for where the job is submitted, whatever --chdir says" {
    mkdir -p below
    cp mlp.json below/only-below.json
    run sbatch --hold "${v100[@]}" --dl-model=only-below.json,epochs=2 --chdir="$folder/below" --wrap true
    ((status != 0))
    [[ $output == *"only-below.json"* ]]
    cd below
    submit "${v100[@]}" --dl-model=only-below.json,epochs=200 --chdir=/tmp
    set_as_said
    submit "${v100[@]}" --dl-model=../mlp.json,epochs=200
    set_as_said
}

@test "another user's submission works with that user's rights" {
    need_root
    cp mlp.json private.json
    chmod 600 private.json
    submitted other sbatch --parsable --hold "${v100[@]}" "$long" --wrap true
    set_as_said
    run other sbatch --hold "${v100[@]}" --dl-model=private.json,epochs=2 --wrap true
    ((status != 0))
    [[ $output == *"private.json: Permission denied"* ]]
    # By the environment it is one warning, and the job goes on.
    submitted env DL_MODEL=private.json,epochs=2 setpriv --reuid=65534 --regid=65534 --clear-groups \
        env -u XDG_RUNTIME_DIR sbatch --parsable --hold "${v100[@]}" --wrap true
    warned_once "private.json: Permission denied"
    unchanged
}

@test "a bad --dl-model is refused with a line that says how to mend it" {
    local how
    printf '#!/bin/sh\n' >job.sh
    for how in sbatch salloc srun; do
        run --separate-stderr "$how" "${v100[@]}" --dl-model=resnet5 "$folder/job.sh"
        ((status != 0))
        [[ $(grep -c '^dltime: ' <<<"$stderr") == 1 ]]
        says 'dltime: --dl-model: resnet5: '
        says 'did you mean "resnet'
        [[ -z $output ]]
    done
    printf '#!/bin/sh\n#SBATCH --dl-model=mlp.json,epoch=3\n' >job.sh
    run --separate-stderr sbatch job.sh
    ((status != 0))
    says 'epochs'
    run sbatch "${v100[@]}" --dl-model= --wrap true
    ((status != 0))
    run sbatch "${v100[@]}" --dl-model --wrap true
    ((status != 0))
    run sbatch "${v100[@]}" --dl-model=mlp.json,epochs=0 --wrap true
    ((status != 0))
    run sbatch "${v100[@]}" --dl-model=/ --wrap true
    ((status != 0))
    mkfifo fifo.json
    run timeout 5 sbatch "${v100[@]}" --dl-model=fifo.json --wrap true
    ((status != 0 && status != 124))
}

@test "words that --dl-time and --dl-partition do not know are refused" {
    run sbatch "${v100[@]}" "$long" --dl-time=perhaps --wrap true
    ((status != 0))
    [[ $output == *'--dl-time takes set|suggest|off, not "perhaps"'* ]]
    run sbatch "${v100[@]}" "$long" --dl-partition=auto:luck --wrap true
    ((status != 0))
    [[ $output == *'--dl-partition takes suggest|auto[:run|:cost|:finish]|off, not "auto:luck"'* ]]
}
