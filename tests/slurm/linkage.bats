#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# What the two objects of the plugin pull into sbatch and into root's daemons.

load helper

needed() {
    readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p' | sort
}

exported() {
    nm -D --defined-only "$1" | awk '{ print $3 }' | sort
}

undefined() {
    nm -D --undefined-only "$1" | awk '{ print $2 }' | sed 's/@.*//' | sort
}

@test "spank_dltime.so needs the C library and nothing else" {
    [[ $(needed "$BUILD/spank_dltime.so") == libc.so.6 ]]
}

@test "spank_dltime.so exports the entry points and nothing else" {
    diff <(exported "$BUILD/spank_dltime.so") <(sort <<'END'
plugin_name
plugin_type
plugin_version
spank_plugin_version
slurm_spank_init
slurm_spank_init_post_opt
slurm_spank_exit
END
    )
}

@test "spank_dltime.so has no parser, no thread and no way to other programs" {
    run -1 grep -E '^(fopen|open|openat|read|fread|scanf|sscanf|strtol|strtod|pthread_create|fork|exec.*|system|popen|socket)$' \
        <(undefined "$BUILD/spank_dltime.so")
}

@test "advise.so exports one function" {
    [[ $(exported "$BUILD/advise.so") == dltime_advise ]]
}

@test "advise.so brings no BLAS, no C++, no CUDA and not Slurm's library" {
    local library
    while read -r library; do
        [[ $library =~ ^(libc|libm|libz|libjson-c|libconfig|ld-linux)[.-] ]] || {
            echo "$library"
            return 1
        }
    done < <(ldd "$BUILD/advise.so" | awk '{ print $1 }' | sed 's|.*/||' | grep -v vdso)
}

@test "advise.so leaves Slurm's functions to the program" {
    undefined "$BUILD/advise.so" | grep -qx slurm_option_set
    undefined "$BUILD/advise.so" | grep -qx slurm_load_partitions
    run -1 grep -x opt <(undefined "$BUILD/advise.so")
}

@test "advise.so starts no thread" {
    run -1 grep -x pthread_create <(undefined "$BUILD/advise.so")
}

@test "dltime depends on no release of Slurm" {
    run -1 grep slurm <(needed "$BUILD/dltime")
    needed "$BUILD/dltime-snapshot" | grep -q libslurm
}
