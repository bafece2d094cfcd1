#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Other releases of Slurm, and what says which one this was built for.

load helper

cflags=(-std=gnu11 -D_GNU_SOURCE -fPIC -Wall -Wextra -Wshadow -Wconversion -Werror -DDLT_LIBDIR='"/usr/lib/dltime"')

@test "the plugin compiles against each release's types and signatures" {
    local release source compiler objects
    cd "$source_dir"
    for compiler in gcc clang; do
        command -v $compiler >/dev/null || continue
        for release in tests/slurm-headers/[0-9]*; do
            objects=$BATS_TEST_TMPDIR/$compiler-${release##*/}
            mkdir "$objects"
            for source in plugin/spank/*.c plugin/slurm/*.c; do
                $compiler "${cflags[@]}" -I"$release" -Ipredictor -c "$source" \
                    -o "$objects/$(basename "$source" .c).o"
            done
        done
    done
}

@test "the compilers saw those headers, and no reference is left that a release lacks" {
    local release object
    cd "$source_dir"
    for release in 20.11 25.11; do
        for object in fill jobspec options_api advise_main; do
            gcc "${cflags[@]}" -Itests/slurm-headers/$release -Ipredictor -c plugin/slurm/$object.c \
                -o "$BATS_TEST_TMPDIR/$object.o"
        done
        # Since 21.08; until some release before 25.11.
        run ! grep -E 'slurm_opt_create_job_desc|slurm_get_errno' \
            <(nm -u "$BATS_TEST_TMPDIR"/*.o)
    done
    run gcc "${cflags[@]}" -Itests/slurm-headers/25.11 -Ipredictor -M plugin/slurm/fill.c
    [[ $output == *tests/slurm-headers/25.11/slurm/slurm.h* && $output != */usr/include/slurm/* ]]
}

@test "there is no forest of #if" {
    run ! grep -nE '^# *(if|ifdef|elif).*SLURM_VERSION' -r "$source_dir/plugin"
}

@test "the helper says what it was built for, and so does dltime" {
    run "$BUILD/dltime-snapshot" --version
    [[ $output =~ ^"dltime-snapshot "[0-9.]+" (Slurm "[0-9]+\.[0-9]+")"$ ]]
    local built=${output#*(}
    run "$BUILD/dltime" --version
    [[ $output == *"${built%)}"* ]]
    run "$BUILD/dltime-snapshot" --nodes
    ((status == 2))
    [[ $output == "Usage: dltime-snapshot [--partitions] | --version" ]]
}
