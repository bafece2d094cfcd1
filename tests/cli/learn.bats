#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# dltime learn on accounting that holds anything.

bats_require_minimum_version 1.5.0

setup() {
    BUILD="${BUILD:-$BATS_TEST_DIRNAME/../../build}"
    dltime=$(readlink -f "$BUILD")/dltime
    cd "$BATS_TEST_TMPDIR" || return
    echo 'JobIDRaw|User|Partition|State|ElapsedRaw|End|Comment|SubmitLine' >./jobs
}

# A job that took 200 s where 100 s were predicted: job USER PARTITION
job() {
    printf '1|%s|%s|COMPLETED|200|2026-01-01T00:00:00|%s|sbatch x\n' "$1" "$2" \
        dltime:NBLNqzQSzasAAAAAAABZQPOYwjE >>./jobs
}

@test "a NUL hides no job behind it" {
    job alice cpu
    printf '2|mallory\0|cpu|COMPLETED|1|2026-01-01T00:00:00|\0|x\n' >>./jobs
    job bob cpu
    run -0 --separate-stderr "$dltime" learn jobs --output out
    [ "$(ls out/users)" = "$(printf 'alice.json\nbob.json')" ]
}

@test "names that are no names of files or of partitions are passed over" {
    for user in .. ../../x /x -rf '' $'a\tb' $'\e[31m' "$(printf 'u%.0s' {1..64})"; do
        job "$user" cpu
    done
    job alice ''
    job alice $'\e[31m'
    job alice cpu
    run -0 --separate-stderr "$dltime" learn jobs --output out
    [ "$(ls out/users)" = alice.json ]
    jq -e '.corrections | length == 1 and .[0].partition == "cpu"' out/users/alice.json
    "$dltime" predict mlp,batch=8 --device v100 --history out/users/alice.json --partition cpu
}

@test "a job without a tag is estimated from the command line that the accounting kept" {
    umask 022
    printf 'partitions = ( { name = "v100"; gpus_per_node = 4; gpu_type = "v100"; profile = "%s"; } );\n' \
        "$(readlink -f "$BATS_TEST_DIRNAME/../../etc/profiles/general.dlp")" >dltime.conf
    spec=resnet18,batch=32,epochs=2,samples=50000
    seconds=$("$dltime" predict "$spec" --profile general --device v100 --json | jq '.job_s * 2 | round')
    line() { # USER SUBMITLINE
        printf '1|%s|v100|COMPLETED|%d|%s||%s\n' "$1" "$seconds" "$(date +%FT%T)" "$2" >>./jobs
    }
    for _ in 1 2 3 4 5; do
        line alice "sbatch -J a -p v100 --gres=gpu:1 -c 4 -N 1-1 -t 1-0 --mem=8G --dl-model=$spec train.sh"
        line bob "sbatch --dl-model $spec --gpus=1 --partition=v100 --signal B:USR1@120 --exclusive train.sh 1 2"
    done
    # What has no --dl-model, a file for a network, or a value that sbatch refuses, tells nothing.
    line carol "sbatch --gres=gpu:1 train.sh"
    line carol "sbatch --gres=gpu:1 --dl-model=./net.json,batch=3,steps=9 train.sh"
    line carol "sbatch --gres=gpu:v100:many --dl-model=$spec train.sh"
    line carol "sbatch -N none --dl-model=$spec train.sh"
    line carol "sbatch -p v100 --dl-model=$spec train.sh"
    run -0 --separate-stderr "$dltime" learn jobs --conf dltime.conf --output out
    [ "$(ls out/users)" = "$(printf 'alice.json\nbob.json')" ]
    # Twice the estimate, five times: the factor lies between none and two.
    jq -e '.corrections[0] | .partition == "v100" and .jobs == 5 and .factor > 1.3 and .factor < 2.1' \
        out/users/alice.json out/users/bob.json
}

@test "a link in the output is not written through" {
    job alice cpu
    mkdir -p out/users && ln -s ../../victim out/users/alice.json
    run -1 --separate-stderr "$dltime" learn jobs --output out
    [[ $stderr == *"out/users/alice.json: is a symbolic link"* ]]
    [ ! -e victim ]
    run -2 "$dltime" learn jobs --output ''
}

@test "what sacct says is wrong is shown" {
    mkdir bin
    printf '#!/bin/sh\necho "sacct: error: Invalid time" >&2\nexit 1\n' >bin/sacct
    chmod +x bin/sacct
    PATH=$PWD/bin:$PATH run -1 --separate-stderr "$dltime" learn --sacct --output out
    [[ $stderr == *"sacct: error: Invalid time"* ]]
    [ ! -e out ]
}

@test "what the accounting lacks is named with its setting" {
    run -0 --separate-stderr "$dltime" learn jobs --output out
    [[ $stderr == *"no finished job; slurm.conf keeps them with AccountingStorageType="* ]]
    printf '1|alice|cpu|COMPLETED|200|2026-01-01T00:00:00||sbatch x\n' >>./jobs
    run -0 --separate-stderr "$dltime" learn jobs --output out
    [[ $stderr == *"no job has a tag; tags need "*"AccountingStoreFlags=job_comment"* ]]
}

@test "a job of a far future counts as one of now" {
    job alice cpu
    sed -i 's/2026-01-01T00:00:00/9223372036854775807/' ./jobs
    run -0 --separate-stderr "$dltime" learn jobs --output out
    # Twice as long as predicted, by one job: 2^(1 / 1.36).
    jq -e '.corrections[0].factor | . > 1.66 and . < 1.67' out/users/alice.json
}
