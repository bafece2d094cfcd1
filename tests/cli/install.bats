#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# make install and uninstall, and what a program gets through pkg-config.

bats_require_minimum_version 1.5.0

# Paths are compiled in, so that another prefix makes some objects anew: in a copy of the build, which
# others use at the same time.
setup_file() {
    source_dir=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    BUILD=$(readlink -f "${BUILD:-$source_dir/build}")
    copy=$BATS_FILE_TMPDIR/build
    to=$BATS_FILE_TMPDIR/root
    libdir=/usr/lib/here
    mkdir "$copy"
    (cd "$BUILD" && cp -a obj dltime dlbench dltime-snapshot libdltime.{a,so} advise.so \
        spank_dltime.so backend_onednn.so ./*.flags "$copy")
    export source_dir BUILD copy to libdir
    make_in install >"$BATS_FILE_TMPDIR/said"
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
}

make_in() { # TARGET [VARIABLE=VALUE]...
    make -s --no-print-directory -C "$source_dir" BUILD="$copy" prefix=/usr libdir="$libdir" \
        DESTDIR="$to" "$@"
}

laid() { # FOLDER: paths of the files and links in it
    (cd "$1" && find . -type f -o -type l | sed 's/^\.//' | sort)
}

@test "everything lies where GNU's variables say, and nowhere else" {
    local path slurm
    slurm=$(dirname "$(find /usr/lib /usr/lib64 -name auth_munge.so 2>/dev/null | head -n 1)")
    for path in /usr/bin/{dltime,dlbench,dltime-site,dltime-torch-run,dltime-torch-export} \
        "$libdir"/{libdltime.so.0,libdltime.so,libdltime.a,dltime/advise.so,pkgconfig/libdltime.pc} \
        "$slurm/spank_dltime.so" /usr/libexec/dltime/dltime-snapshot /usr/include/dltime.h \
        /usr/share/dltime/models/resnet50.json /usr/share/dltime/profiles/general.dlp \
        /usr/share/doc/dltime/{README.md,LICENSE,docs/admin.md,examples/train.sh} \
        /usr/share/man/man8/spank_dltime.8 /usr/share/bash-completion/completions/{dltime,dlbench} \
        /etc/bash_completion.d/zz_dltime /etc/dltime/dltime.conf; do
        [[ -e $to$path ]] || { echo "$path" && return 1; }
    done
    run grep -vE "^(/usr/(bin|include|libexec|share)|$libdir|$slurm|/etc)/" <(laid "$to")
    [[ -z $output ]]
}

@test "make install prints the line for plugstack.conf" {
    grep -qx "  optional /usr/.*/spank_dltime.so conf=/etc/dltime/dltime.conf" "$BATS_FILE_TMPDIR/said"
    [[ $(grep -c . "$BATS_FILE_TMPDIR/said") == 2 ]]
}

@test "no path of another prefix, of the sources or of the build is in what is installed" {
    run grep -rlaE "/usr/local/(share|lib|libexec|etc)|$copy" "$to/usr/bin" "$to/etc" "$to$libdir"/*.so* \
        "$to$libdir/dltime" "$to$libdir/pkgconfig" "$to/usr/libexec" "$to/usr/share/bash-completion"
    [[ -z $output ]]
    "$to/usr/bin/dltime-site" --help >/dev/null
    readelf --dynamic --wide "$to$libdir"/dltime/*.so | not_grep 'RUNPATH|RPATH'
}

not_grep() { # PATTERN
    ! grep -E "$1"
}

@test "only the objects that hold a path were made anew, and none for the same paths" {
    diff <(find "$copy/obj" -name '*.o' -newer "$copy/paths.flags" -printf '%P\n' | sort) \
        <(printf '%s\n' plugin/spank/load.o predictor/base/paths.o)
    touch now
    make_in all
    [[ -z $(find "$copy" -name '*.o' -newer now) ]]
}

@test "PREFIX is prefix, and every folder can be given by itself" {
    run make -n -C "$source_dir" BUILD="$copy" PREFIX=/opt/dl docdir=/doc mandir=/man install
    ((status == 0))
    [[ $output == *:/opt/dl/bin/dlbench\ * && $output == *:/doc/README.md\ * ]]
    [[ $output == *:/man/man1/dltime.1\ * && $output == */opt/dl/etc/dltime/dltime.conf* ]]
}

@test "DESTDIR may have blanks" {
    mkdir 'a b'
    make_in DESTDIR="$PWD/a b" install >/dev/null
    diff <(laid 'a b') <(laid "$to")
    make_in DESTDIR="$PWD/a b" uninstall
    [[ -z $(laid 'a b') ]]
}

@test "a folder with blanks in its name, or a relative one, is refused before anything is built" {
    local wrong
    for wrong in 'prefix=/opt/my dl' 'libdir=lib' 'SLURM_PLUGIN_DIR=/opt/a:b'; do
        run make -C "$source_dir" BUILD="$PWD/none" DESTDIR="$PWD/to" "$wrong" install
        ((status == 2))
        [[ ${lines[*]} =~ \*\*\*\ ${wrong%%=*}=.*": name a"(" folder without blanks"|"n absolute path") ]]
        [[ ! -e none && ! -e to ]]
    done
}

@test "pkg-config: the example program builds, shared and static, and says what dltime predict says" {
    spec=$source_dir/etc/models/resnet18.json,batch=32,epochs=90,samples=1281167
    profile=$source_dir/etc/profiles/general.dlp
    "$BUILD/dltime" predict "$spec" --profile "$profile" --device v100 --json |
        jq -r '"\(.step_ms / 1000) \(.job_s) \(.quantiles["0.9"])"' >expected
    export PKG_CONFIG_SYSROOT_DIR=$to PKG_CONFIG_LIBDIR=$to$libdir/pkgconfig
    [[ $(pkg-config --modversion libdltime) == "$("$BUILD/dltime" --version | awk '{ print $2; exit }')" ]]
    cp "$to/usr/share/doc/dltime/examples/predict.c" .
    build=("${CC:-cc}" -std=c11 -Wall -Wextra -Werror predict.c -o)
    # shellcheck disable=SC2046 # flags are words
    "${build[@]}" shared $(pkg-config --cflags --libs libdltime)
    # shellcheck disable=SC2046
    "${build[@]}" static -static $(pkg-config --cflags --libs --static libdltime)
    readelf --dynamic shared | grep -q 'NEEDED.*libdltime\.so\.0'
    readelf --dynamic static | not_grep NEEDED
    for program in shared static; do
        LD_LIBRARY_PATH=$to$libdir "./$program" "$profile" v100 "$spec" >said
        grep -Eq '^resnet18 on .*V100.*; rests on: ' said
        sed -E 's/.* a step ([^ ]+) s, the job ([^ ]+) s, .* within ([^ ]+) s;.*/\1 \2 \3/' said |
            paste -d ' ' - expected |
            awk '{ for (i = 1; i <= 3; i++) if ($i / $(i + 3) < 0.999 || $i / $(i + 3) > 1.001) exit 1 }'
        run -1 env LD_LIBRARY_PATH="$to$libdir" "./$program" "$profile" v1000 "$spec"
        [[ $output == *'has no device "v1000"'* ]]
    done
}

# Last, because it takes away what the others look at.
@test "uninstall leaves what install did not lay, and a changed dltime.conf" {
    echo mine >"$to$libdir/dltime/mine"
    echo '# mine' >>"$to/etc/dltime/dltime.conf"
    make_in install >/dev/null
    make_in uninstall
    [[ $(laid "$to") == "/etc/dltime/dltime.conf"$'\n'"$libdir/dltime/mine" ]]
    cp "$source_dir/etc/dltime.conf" "$to/etc/dltime/"
    rm "$to$libdir/dltime/mine"
    make_in uninstall
    [[ -z $(laid "$to") ]]
    [[ -z $(find "$to" -name '*dltime*') ]]
}
