#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# scripts/test counts what ran: nothing that crashes, hangs or is not there goes unseen. It is run in
# a tree of its own, with programs that do each of these things.

bats_require_minimum_version 1.5.0

setup() {
    source_dir=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    tree="$BATS_TEST_TMPDIR/a tree"
    mkdir -p "$tree"/{scripts,tests/unit,tests/cli,build/tests,build/locales/de_DE.UTF-8}
    cp "$source_dir/scripts/test" "$tree/scripts"
    printf '#!/bin/sh\nexit 0\n' >"$tree/scripts/setup"
    chmod +x "$tree/scripts/setup"
    unset DLTIME_DATA
}

# A unit test whose program is the shell script on standard input.
program() { # NAME
    touch "$tree/tests/unit/test_$1.c"
    {
        echo '#!/bin/bash'
        cat
    } >"$tree/build/tests/test_$1"
    chmod +x "$tree/build/tests/test_$1"
}

# Static checks that cost nothing, since they run at the lowest priority; clang-tidy is COMMAND.
static_checks() { # COMMAND
    local name
    mkdir -p "$tree/bin"
    for name in clang-format shellcheck mandoc cppcheck; do
        ln -s /bin/true "$tree/bin/$name"
    done
    printf 'tidy:\n\t@%s\n' "$1" >"$tree/Makefile"
    PATH=$tree/bin:$PATH
}

last_line() {
    tail -n 1 <<<"$output"
}

@test "the last line adds up passed, failed and skipped, and skips are named" {
    program a <<<'printf "1..3\nok 1 - one\nok 2 - two\nnot ok 3 # SKIP three\n"'
    program b <<<'printf "1..1\nok 1 - four\n"'
    run -0 "$tree/scripts/test" unit
    [ "$(last_line)" = "3 passed, 0 failed, 1 skipped" ]
    [[ "$output" == *"skipped: test_a: # SKIP three"* ]]
}

@test "a failed test fails the run and shows its output" {
    program a <<<'printf "1..2\nok 1 - one\nnot ok 2 - two\n# 3 != 4\n"; exit 1'
    run -1 "$tree/scripts/test" unit
    [ "$(last_line)" = "1 passed, 1 failed" ]
    [[ "$output" == *"3 != 4"* ]]
}

@test "what was planned and never reported has failed" {
    program a <<<'printf "1..4\nok 1 - one\n"; kill -SEGV $$'
    run -1 "$tree/scripts/test" unit
    [ "$(last_line)" = "1 passed, 3 failed" ]
}

@test "a program that fails after its last test, or says nothing, has failed" {
    program a <<<'printf "1..1\nok 1 - one\n"; exit 1'
    program b <<<'exit 0'
    run -1 "$tree/scripts/test" unit
    [ "$(last_line)" = "1 passed, 2 failed" ]
}

@test "a program that was not built has failed" {
    program a <<<'printf "1..1\nok 1 - one\n"'
    touch "$tree/tests/unit/test_lost.c"
    run -1 "$tree/scripts/test" unit
    [ "$(last_line)" = "1 passed, 1 failed" ]
}

@test "a stage that finds nothing to run has failed, and the next one still runs" {
    program a <<<'printf "1..1\nok 1 - one\n"'
    run -1 "$tree/scripts/test" cli unit
    [ "$(last_line)" = "1 passed, 1 failed" ]
}

@test "the stage beside the others is waited for, counted and shown" {
    program a <<<'printf "1..1\nok 1 - one\n"'
    static_checks 'sleep 1; echo a slip; exit 1'
    run -1 "$tree/scripts/test" unit static
    [[ "$output" == *unit*"1 passed"*static*"failed: clang-tidy"*"a slip"* ]]
    [ "$(last_line)" = "6 passed, 1 failed" ]
}

@test "a stage that came before the others does not run again beside them" {
    program a <<<'printf "1..1\nok 1 - one\n"'
    static_checks 'echo checked >>ran'
    run -0 "$tree/scripts/test" static unit
    [ "$(last_line)" = "7 passed, 0 failed" ]
    [ "$(cat "$tree/ran")" = checked ]
}

@test "a stage that ended beside the others without a count has failed" {
    program a <<<'printf "1..1\nok 1 - one\n"'
    static_checks true
    "$tree/scripts/test" static >/dev/null # whose counts are there still
    ln -s /bin/false "$tree/bin/setsid"
    run -1 "$tree/scripts/test" unit static
    [ "$(last_line)" = "1 passed, 1 failed" ]
}

@test "told to end, it leaves nothing running" {
    program a <<<"exec sleep 300.$$"
    static_checks "exec sleep 300.$$"
    "$tree/scripts/test" unit static >/dev/null 2>&1 3>&- &
    for ((i = 0; i < 300; i++)); do
        [ "$(pgrep -c -f "^sleep 300.$$")" -lt 2 ] || break
        sleep 0.1
    done
    kill -TERM $!
    status=0
    wait $! || status=$?
    [ "$status" -eq 130 ]
    for ((i = 0; i < 50; i++)); do
        pgrep -f "^sleep 300.$$" >/dev/null || return 0
        sleep 0.1
    done
    false
}

@test "command-line tests are counted one by one" {
    sed 's/^%/@/' >"$tree/tests/cli/x.bats" <<'END'
%test "good" { true; }
%test "bad" { false; }
%test "left out" { skip "no data here"; }
END
    # The outer bats puts its own parts first in the path.
    run -1 env -i PATH=/usr/bin:/bin "$tree/scripts/test" cli
    [ "$(last_line)" = "1 passed, 1 failed, 1 skipped" ]
    [[ "$output" == *"no data here"* ]]
}

@test "an unknown stage is refused" {
    run -2 "$tree/scripts/test" unite
    [[ "$output" == *"unknown stage unite"* ]]
}
