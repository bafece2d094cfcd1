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

@test "the shared library is libdltime.so.0 and needs nothing but libconfig, json-c, zlib and libc" {
    readelf --dynamic --wide "$BUILD/libdltime.so" >dynamic
    grep -q 'SONAME.*\[libdltime\.so\.0\]' dynamic
    sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' dynamic | sort >needed
    [ "$(grep -vE '^(libc|libm|libz|libconfig|libjson-c|ld-linux.*)\.so' needed)" = "" ]
}

@test "dltime.h is C++ too" {
    command -v c++ || skip "no C++ compiler"
    echo '#include <dltime.h>
        int main() { return dlt_fits_name(DLT_FITS_NO)[0] != 110; }' >fits.cpp
    c++ -Wall -Werror -pedantic "-I$source_dir/predictor" fits.cpp "$BUILD/libdltime.a" -lconfig -ljson-c -lz -lm
    ./a.out
}

@test "a program finds a device of the catalogue as dltime predict --device does" {
    local profile=$source_dir/etc/profiles/general.dlp
    local spec=resnet50,batch=64,epochs=90,samples=1281167
    ln -s "$BUILD/libdltime.so" libdltime.so.0
    "${CC:-cc}" "-I$source_dir/predictor" "$source_dir/etc/examples/predict.c" -o predict \
        "$BUILD/libdltime.so"
    export LD_LIBRARY_PATH=$PWD
    for device in h100 gfx90a "NVIDIA A100-SXM4-80GB"; do
        ./predict "$profile" "$device" "$spec" >said
        "$BUILD/dltime" predict "$spec" --profile "$profile" --device "$device" --json |
            jq -r '[.model, .device, .step_ms, .job_s, .quantiles."0.9", .basis] | @tsv' |
            awk -F'\t' '{ printf "%s on %s: a step %.4g s, the job %.0f s, 9 of 10 within %.0f s; rests on: %s\n",
                $1, $2, $3 / 1000, $4, $5, $6 }' >expected
        diff expected said
    done
    run ! ./predict "$profile" "no such device" "$spec"
    [[ $output == *"no such device"* ]]
}
