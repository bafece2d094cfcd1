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

@test "dltime.h is C++ too" {
    command -v c++ || skip "no C++ compiler"
    echo '#include <dltime.h>
        int main() { return dlt_fits_name(DLT_FITS_NO)[0] != 110; }' >fits.cpp
    c++ -Wall -Werror -pedantic "-I$source_dir/predictor" fits.cpp "$BUILD/libdltime.a" -ljson-c -lz -lm
    ./a.out
}
