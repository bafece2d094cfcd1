#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Manuals say what the programs do: their examples run, and they and --help name the same options.
# Examples that need a cluster run in tests/slurm: decisions.bats, site.bats.

bats_require_minimum_version 1.5.0

# shellcheck disable=SC2030,SC2031 # tests set PATH for themselves

setup_file() {
    source_dir=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    BUILD=$(readlink -f "${BUILD:-$source_dir/build}")
    folder=$BATS_FILE_TMPDIR
    export source_dir BUILD folder
    cd "$folder" || return
    # What examples take for given. Absolute paths of theirs lie in this folder.
    mkdir -p bin scratch/imagenet/train var/lib bert-base-uncased
    head -c 400000 /dev/zero | split -b 4000 - scratch/imagenet/train/
    echo '{"model_type": "bert"}' >bert-base-uncased/config.json
    cp "$source_dir/tests/data/resnet50.onnx" .
    cp "$source_dir/etc/profiles/general.dlp" .
    cp "$source_dir/etc/profiles/nvidia-a100-pcie-40gb.pytorch.dlp" a100.dlp
    cat >net.json <<'END'
{"name": "net", "input": [1, 28, 28], "layers": [
  {"op": "conv2d", "out_channels": 8, "kernel_size": 3}, {"op": "relu"}, {"op": "flatten"},
  {"op": "dense", "out_features": 10}], "training": {"samples": 60000, "batch": 32}}
END
    cat >net.py <<'END'
import torch.nn as nn


def Net():
    return nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 26 * 26, 10))
END
    awk -v n=60 -f "$source_dir/tests/rows.awk" >x1-quick.jsonl
    gzip -c x1-quick.jsonl >v100.jsonl.gz
    awk 'BEGIN {
        print "{\"format\":\"dltime-runs\",\"version\":1}"
        split("Tesla T4,Tesla V100-SXM2-16GB", device, ",")
        for (d = 1; d <= 2; d++)
            for (batch = 8; batch <= 32; batch *= 2)
                for (n = 1; n <= 8; n *= 2)
                    printf "{\"model\":\"resnet50\",\"device\":\"%s\",\"devices\":%d," \
                           "\"nodes\":%d,\"batch\":%d,\"step_ms\":%g}\n", device[d], n,
                           1 + (n > 4), batch, 6 * batch * n^0.1 / d
    }' >site-runs.jsonl
    printf '%s\n' 'JobIDRaw|User|Partition|State|ElapsedRaw|End|Comment' \
        '7|ada|gpu|COMPLETED|600|2026-11-29T12:00:00|none' >jobs.txt
    # Measuring for minutes shows no more of an example than a few samples do.
    cat >bin/dlbench <<'END'
#!/bin/bash
arguments=("$@")
for i in "${!arguments[@]}"; do
    [[ ${arguments[i]} != --time-budget ]] || arguments[i]=--samples arguments[i + 1]=12
done
case $1 in
run) arguments+=(--ops "elementwise,optimizer_update" --threads 1) ;;
network) arguments+=(--steps 2 --threads 1) ;;
esac
exec "$BUILD/dlbench" "${arguments[@]}"
END
    for program in run export; do
        printf '#!/bin/sh\nexec "$PYTHON" "%s" "$@"\n' "$source_dir/scripts/torch-$program" \
            >"bin/dltime-torch-$program"
    done
    # The same of batches and steps.
    sed -i 's/"\$@"/"${@\/#2,4,8\/2}" --steps 1 --warmup 1/; s/bin.sh/bin\/bash/' bin/dltime-torch-run
    ln -s "$BUILD/libdltime.so" libdltime.so.0
    chmod +x bin/*
}

setup() {
    cd "$folder" || return
    PATH=$folder/bin:$BUILD:$PATH
    export CPATH=$source_dir/predictor LIBRARY_PATH=$BUILD LD_LIBRARY_PATH=$folder
}

# examples PAGE...: runs them in the order of the page, each in the folder that the last one left.
examples() {
    local page
    for page in "$@"; do
        "$source_dir/tests/examples" "$source_dir/man/$page" |
            sed -E "s# /(scratch|var)# $folder/\1#g" >script
        [[ -s script ]] || { echo "$page has no examples" && return 1; }
        PS4='+ $SECONDS s: ' bash -euxo pipefail script || { echo "man/$page" && return 1; }
    done
}

@test "examples of dltime(1) and dlbench(1) run" {
    examples dltime.1 dlbench.1
}

@test "the example of libdltime(3) runs" {
    ! grep -q __asan_init <(nm -D "$BUILD/libdltime.so") ||
        skip "a library with sanitizers needs a program with them"
    examples libdltime.3
}

@test "examples of the manuals of files run" {
    examples dltime-devices.5 dltime-measurements.5 dltime-model.5 dltime-profile.5
}

# The Nth block of a page that is no commands but a file, or a part of one.
shown() { # PAGE N
    awk -v n="$2" '
        /^\.Bd/ { block = ""; next }
        /^\.Ed/ { if (block !~ /^\$ / && --n == 0) printf "%s", block; next }
        { block = block $0 "\n" }' "$source_dir/man/$1"
}

@test "files that manuals show are read as they stand" {
    mkdir -p shown/build shown/predictor shown/etc
    shown dltime-model.5 1 >shown/model.json
    dltime check shown/model.json
    { echo '{"input": [64, 16, 16], "layers": [' && shown dltime-model.5 2 && echo ']}'; } >shown/block.json
    dltime check shown/block.json
    for block in 1 2; do shown dltime-measurements.5 $block | tr -d '\n' && echo; done >shown/rows.jsonl
    dltime evaluate --profile general shown/rows.jsonl --json | jq -e '.operators.n == 1'
    echo '{"format":"dltime-runs","version":1}' >shown/runs.jsonl
    shown dltime-measurements.5 3 | tr -d '\n' >>shown/runs.jsonl
    dltime evaluate --profile general shown/runs.jsonl --json | jq -e '.networks.n == 1'
    shown dltime-measurements.5 5 >shown/history.json # 4: a scaling file, abridged
    dltime predict lenet5,batch=8 --device a100 --history shown/history.json --partition gpu --json |
        jq -e '.correction == 1.07'
    cp "$BUILD/dltime" shown/build
    cp "$source_dir/predictor/dltime.h" shown/predictor
    shown dltime-devices.5 1 >shown/etc/devices.conf
    shown/build/dltime devices --json 'Example X1' | jq -e '.devices[0] | .sms == 60 and .memory_gib == 24'
}

@test "examples of PyTorch's manuals run" {
    for PYTHON in /usr/bin/python3 python3 ''; do
        "$PYTHON" -c 'import torch' 2>/dev/null && break
    done
    [[ $PYTHON ]] || skip "no Python here has torch"
    export PYTHON
    examples dltime-torch-export.1 dltime-torch-run.1
}

# Its submissions run in tests/slurm/decisions.bats.
@test "commands of the user's guide run" {
    for PYTHON in /usr/bin/python3 python3 ''; do
        "$PYTHON" -c 'import torch' 2>/dev/null && break
    done
    export PYTHON
    "$source_dir/tests/examples" "$source_dir/docs/user.md" | grep -v 'sbatch ' >script
    mkdir guide
    cp net.py guide
    (($(wc -l <script) > 20))
    if [[ ! $PYTHON ]]; then
        echo "# no Python here has torch: the guide's export is left out" >&3
        sed -i '/torch-export\|net\.onnx/d' script
    fi
    (cd guide && bash -euxo pipefail ../script) || { cat script && return 1; }
}

@test "every manual has examples, and a test runs them" {
    local page tested
    tested=$(cat "$source_dir"/tests/cli/manuals.bats "$source_dir"/tests/slurm/*.bats)
    for page in "$source_dir"/man/*.[1-9]; do
        [[ -n $("$source_dir/tests/examples" "$page") ]] || { echo "$page has none" && return 1; }
        grep -Eq "examples .*$(basename "$page")" <<<"$tested" || { echo "$page" && return 1; }
    done
}

@test "every program that is installed has a manual" {
    local program
    for program in dltime dlbench dltime-site dltime-snapshot dltime-torch-run \
        dltime-torch-export spank_dltime; do
        compgen -G "$source_dir/man/$program.[18]" || { echo "$program" && return 1; }
    done
}

# Options of a text of --help: of its usage, and of lines that begin with one behind two spaces.
of_help() {
    grep -E '^(  --|Usage:)' | grep -oE '(^ |,|[[]| )( |)--[a-z-]+' | grep -oE -- '--[a-z-]+' |
        grep -vx -- --help | sort -u
}

# Options of a manual, or of one command in it, that stand as an item of a list.
of_page() { # PAGE [COMMAND]
    awk -v command="${2:-}" '
        command != "" && /^\.It Cm [a-z]+/ { inside = $3 == command }
        /^\.Sh / { inside = command == "" }
        inside && /^\.It .*Fl -/ { print }
    ' "$source_dir/man/$1" | grep -v '^\.It Cm' | sed -n 's/^\.It //p' |
        grep -oE '(Fl|,|\|) -[a-z-]+' | grep -oE -- '-[a-z-]+' | sed 's/^/-/' |
        grep -vxE -- '--(help|version)' | sort -u
}

same_options() { # WHAT PAGE COMMAND HELP...
    local what=$1 page=$2 command=$3 difference
    shift 3
    difference=$(diff <("$@" --help | of_help) <(of_page "$page" "$command")) ||
        { echo "$what: < --help alone, > man/$page alone"; echo "$difference"; return 1; }
}

@test "--help and the manual name the same options, command by command" {
    local command status=0
    for command in predict advise check train evaluate report learn scaling devices models; do
        same_options "dltime $command" dltime.1 "$command" "$BUILD/dltime" "$command" || status=1
    done
    for command in run network verify io info; do
        same_options "dlbench $command" dlbench.1 "$command" "$BUILD/dlbench" "$command" || status=1
    done
    for command in run export; do
        same_options "torch-$command" "dltime-torch-$command.1" "" \
            python3 "$source_dir/scripts/torch-$command" || status=1
    done
    same_options dltime-site dltime-site.8 "" "$source_dir/scripts/site" || status=1
    ((status == 0))
}

help_fits() { # COMMAND...
    "$@" --help | awk -v what="$*" '
        length > 100 { print what ": line " NR " has " length " columns"; bad = 1 }
        END { if (NR > 24) { print what ": " NR " lines"; bad = 1 } exit bad }'
}

@test "every --help fits a screen: 24 lines of 100 columns" {
    local command
    help_fits "$BUILD/dltime"
    help_fits "$BUILD/dlbench"
    for command in predict advise check train evaluate report learn scaling devices models; do
        help_fits "$BUILD/dltime" "$command"
    done
    for command in run network verify io info; do
        help_fits "$BUILD/dlbench" "$command"
    done
    for command in site torch-run torch-export gpu-check cuda12-toolkit package slurm-dev demo test; do
        help_fits "$source_dir/scripts/$command"
    done
}

# Every text that the plugin can print at submission, as FILE:FORMAT: the strings of each call that
# tells the user or fails, where strings side by side are one.
messages() {
    python3 - "$source_dir"/plugin/*/*.c <<'END'
import re, sys

string = r'"(?:[^"\\]|\\.)*"'
tells = r"dlt_tell\w*|dlt_scene_say|dlt_fail|dlt_config_refuse|snprintf(?=\((?:message|line|mend),)"
calls = r"\b(?:" + tells + r")\("
for path in sys.argv[1:]:
    source = open(path).read()
    for call in re.finditer(calls, source):
        depth, end = 1, call.end()
        while depth:
            token = re.compile(string + "|'.'|.", re.S).match(source, end)
            depth += {"(": 1, ")": -1}.get(token.group(), 0)
            end = token.end()
        for text in re.findall(string, re.sub(r'"\s*"', "", source[call.end() : end])):
            print(path.split("/")[-1] + ":" + text[1:-1])
END
}

# shellcheck disable=SC2016
@test "the administrator's guide has every message that the plugin prints at submission" {
    messages | python3 -c '
import re, sys

page = open(sys.argv[1]).read().replace("\\`", "`").replace("\\|", "|")
count, missing = 0, []
for line in sys.stdin:
    path, text = line.rstrip("\n").split(":", 1)
    text = re.sub(r"^dltime: (warning: )?|\\n$", "", text).replace("\\\"", "\"")
    # What stands before the first conversion, and every long fixed part behind it.
    parts = re.split(r"%[-.0-9]*(?:ll|l|z)?[a-z]", text.replace("%%", "\0"))
    parts = [part.replace("\0", "%").strip(" :;") for part in parts]
    fixed = [parts[0]] + [part for part in parts[1:] if len(part) > 9]
    count += any(fixed)
    if any(part not in page for part in fixed):
        missing.append(f"{path}: {text}")
print("\n".join(missing))
sys.exit(bool(missing) or count < 60)' "$source_dir/docs/admin.md"
}
