#!/usr/bin/env bats
# The short version of `make reliability`: full disks, cut writes, and a few kills.

bats_require_minimum_version 1.5.0

reliability() {
    BUILD="${BUILD:-$BATS_TEST_DIRNAME/../../build}" TMPDIR=$BATS_TEST_TMPDIR \
        "$BATS_TEST_DIRNAME/../reliability/run" --kills 8 "$@"
}

@test "interrupted and short reads and writes change nothing" {
    reliability faults
}

@test "a full disk is told, and leaves what was there and nothing else" {
    reliability full
}

@test "killed before any call that changes a file, train and learn leave no half of one" {
    reliability train learn
}
