#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# libdltime as another program gets it.

bats_require_minimum_version 1.5.0

setup() {
    source_dir=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    BUILD=$(readlink -f "${BUILD:-$source_dir/build}")
    cd "$BATS_TEST_TMPDIR" || return
}

# What dltime.h declares, its comments taken out.
declared() {
    "${CC:-cc}" -E -P "$source_dir/predictor/dltime.h" | grep -o '\bdlt_[a-z_]*(' | tr -d '(' | sort
}

@test "the shared library exports exactly the functions of dltime.h, with their version" {
    declared >functions
    [ "$(wc -l <functions)" -gt 20 ]
    readelf --dyn-syms --wide "$BUILD/libdltime.so" |
        awk '$7 != "UND" && $5 == "GLOBAL" && $4 == "FUNC" { print $8 }' | sort >exported
    diff <(sed 's/$/@@DLTIME_0.1/' functions) exported
}

@test "the shared library is libdltime.so.0 and needs nothing but json-c, zlib and libc" {
    readelf --dynamic --wide "$BUILD/libdltime.so" >dynamic
    grep -q 'SONAME.*\[libdltime\.so\.0\]' dynamic
    sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' dynamic | sort >needed
    [ "$(grep -vE '^(libc|libm|libz|libjson-c|ld-linux.*)\.so' needed)" = "" ]
}

@test "the example program builds against both libraries and says what dltime predict says" {
    spec=$source_dir/etc/models/resnet18.json,batch=32,epochs=90,samples=1281167
    profile=$source_dir/etc/profiles/general.dlp
    "$BUILD/dltime" predict "$spec" --profile "$profile" --device v100 --json |
        jq -r '"\(.step_ms / 1000) \(.job_s) \(.quantiles["0.9"])"' >expected
    ln -s "$BUILD/libdltime.so" libdltime.so.0
    build=("${CC:-cc}" -std=c11 -Wall -Wextra -Werror "-I$source_dir/predictor"
        "$source_dir/etc/examples/predict.c" -o)
    "${build[@]}" shared libdltime.so.0 -Wl,-rpath,"$PWD"
    "${build[@]}" static "$BUILD/libdltime.a" -ljson-c -lz -lm
    readelf --dynamic shared | grep -q 'NEEDED.*libdltime\.so\.0'
    for program in shared static; do
        "./$program" "$profile" v100 "$spec" >said
        grep -Eq '^resnet18 on .*V100.*; rests on: ' said
        sed -E 's/.* a step ([^ ]+) s, the job ([^ ]+) s, .* within ([^ ]+) s;.*/\1 \2 \3/' said |
            paste -d ' ' - expected |
            awk '{ for (i = 1; i <= 3; i++) if ($i / $(i + 3) < 0.999 || $i / $(i + 3) > 1.001) exit 1 }'
        run -1 "./$program" "$profile" v1000 "$spec"
        [[ $output == *'has no device "v1000"'* ]]
    done
}

@test "dltime.h is C++ too" {
    command -v c++ || skip "no C++ compiler"
    echo '#include <dltime.h>
        int main() { return dlt_fits_name(DLT_FITS_NO)[0] != 110; }' >fits.cpp
    c++ -Wall -Werror -pedantic "-I$source_dir/predictor" fits.cpp "$BUILD/libdltime.a" -ljson-c -lz -lm
    ./a.out
}
