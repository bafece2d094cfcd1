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
