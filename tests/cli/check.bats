#!/usr/bin/env bats
# dltime check and dltime models, as a shell sees them.

bats_require_minimum_version 1.5.0

setup() {
    BUILD="${BUILD:-$BATS_TEST_DIRNAME/../../build}"
    dltime="$BUILD/dltime"
    cd "$BATS_TEST_TMPDIR" || return
}

@test "check prints layers and the totals that PyTorch has" {
    run --separate-stderr "$dltime" check resnet50
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [[ "$output" == "resnet50: 3 x 224 x 224; 175 layers"* ]]
    [[ "$output" == *"parameters  25,557,032, all of them trainable"* ]]
    [[ "$output" == *"MACs        4,089,184,256 for one sample, forward"* ]]
    grep -Eq '^  layer1_first.conv3 +conv2d +256 x 56 x 56 +16.4 k +51.4 M$' <<<"$output"
    # A table that fits a terminal of 100 columns.
    [ "$(awk '{ if (length > longest) longest = length } END { print longest }' <<<"$output")" -le 100 ]
}

@test "check --json has the fields of the contract, whatever the batch" {
    for batch in 1 64; do
        "$dltime" check vgg16 --batch $batch --json >out.json
        jq -e '.name == "vgg16" and .parameters == 138357544 and .trainable == 138357544
               and .macs == 15470264320 and .flops >= 2 * .macs and .memory.total_gib > 2
               and (.layers | length) == 40 and .problems == []' out.json
        jq -e --argjson n $batch '.layers[0].output == [$n, 64, 224, 224]
               and (.layers | map(.parameters) | add) == .parameters
               and (.layers | map(.macs) | add) == .macs' out.json
    done
}

@test "check takes training keys and they change the memory" {
    plain=$("$dltime" check resnet18,batch=32 --json | jq .memory.activations_gib)
    half=$("$dltime" check resnet18,batch=32,precision=amp-float16 --json | jq .memory.activations_gib)
    jq -en "$half < 0.6 * $plain and $half > 0.4 * $plain"
}

@test "check names what looks wrong and still succeeds" {
    cat >net.json <<'JSON'
{"inputs": {"x": [3, 9, 9], "unused": [4]}, "layers": [
 {"op": "conv2d", "name": "lost", "out_channels": 4, "kernel_size": 3, "inputs": ["x"]},
 {"op": "adaptive_avg_pool2d", "name": "pool", "output_size": 2, "inputs": ["x"]},
 {"op": "flatten"}, {"op": "dense", "out_features": 2, "trainable": false}]}
JSON
    run "$dltime" check net.json
    [ "$status" -eq 0 ]
    [[ "$output" == *"input 1 of the network is not used"* ]]
    [[ "$output" == *"lost: output 0 is used by no other layer"* ]]
    [[ "$output" == *"pool: its output size does not divide its input"* ]]
    [[ "$output" == *"frozen"* ]]
    # GPT-2 learned 1024 positions: transformers' wpe(1024) is out of range.
    "$dltime" check gpt2,seq=1024 --json | jq -e '.problems == []'
    "$dltime" check gpt2,seq=1025 --json |
        jq -e '.problems[0] | test(": 1025 positions, and a table of 1024: PyTorch fails$")'
}

@test "an error is one sentence on stderr with file, place and the nearest name" {
    echo '{"input": [1, 28, 28], "layers": [{"op": "conv2d", "out_channels": 6, "kernal": 5}]}' >net.json
    run --separate-stderr "$dltime" check net.json
    [ "$status" -eq 1 ]
    [ -z "$output" ]
    [ "$stderr" = 'dltime check: net.json: layers[0].kernal: unknown attribute of conv2d; did you mean "kernel_size"?' ]
    run --separate-stderr "$dltime" check resnet51
    [ "$status" -eq 1 ]
    [ "$stderr" = 'dltime check: resnet51: no model of that name is shipped; did you mean "resnet50"?' ]
}

@test "control characters of a file do not reach the terminal" {
    printf '{"input": [4], "layers": [{"op": "re\\u001b[31mlu"}]}' >net.json
    run --separate-stderr "$dltime" check net.json
    [ "$status" -eq 1 ]
    [[ "$stderr" == *'unknown operator "re?[31mlu"'* ]]
    printf '{"input": [4], "layers": [{"op": "relu", "name": "r\\u0007"}]}' >net.json
    run --separate-stderr "$dltime" check net.json
    [ "$status" -eq 1 ]
    [[ "$stderr" == *"none of them a space, a colon, a bracket or a control character"* ]]
    printf '{"name": "a\\u001bb", "input": [4], "layers": [{"op": "relu"}]}' >net.json
    run "$dltime" check net.json
    [[ "$output" == "a?b: 4; 1 layer"* ]]
}

@test "a hundred thousand layers are printed one by one" {
    ! "$dltime" --version | grep -q fsanitize=address || skip "the sanitizer needs all addresses"
    {
        echo '{"input": [16], "layers": [{"op": "dense", "out_features": 16}'
        yes ',{"op": "relu"},{"op": "dense", "out_features": 16}' | head -n 50000
        echo ']}'
    } >net.json
    # 150 MB; as one object they took 767.
    (ulimit -v 500000 && "$dltime" check net.json --json) >out.json
    [ "$(grep -c '^      "op": ' out.json)" -eq 100001 ]
    [ "$(sed -n '2p;$p' out.json)" = '  "name": "net",
}' ]
}

@test "wrong usage exits 2 and points to --help" {
    for words in "" "--batch 0 lenet5" "--batch x lenet5" "--frob lenet5" "lenet5 vgg16"; do
        # shellcheck disable=SC2086
        run --separate-stderr "$dltime" check $words
        [ "$status" -eq 2 ]
        [ -z "$output" ]
        [[ "$stderr" == *"Try: dltime check --help"* ]]
    done
}

@test "an option or command that is none is answered with the nearest, a wrong value with that" {
    refuses() { # SENTENCE COMMAND...
        run --separate-stderr "${@:2}"
        [ "$status" -eq 2 ] && [ "${stderr_lines[0]}" = "$1" ] || { echo "$stderr" && return 1; }
    }
    refuses 'dltime predict: --devcie: unknown option; did you mean --device?' \
        "$dltime" predict lenet5 --devcie v100
    refuses 'dltime check: --batch takes a value' "$dltime" check lenet5 --batch
    refuses 'dltime models: --json takes no value' "$dltime" models --json=x
    refuses 'dltime devices: -x: unknown option' "$dltime" devices -xy
    refuses 'dltime models: -j: unknown option' "$dltime" models --json -jx
    refuses 'dltime models: --json takes no value' "$dltime" models --json=3
    refuses 'dltime advise: --cnf: unknown option; did you mean --conf?' "$dltime" advise --cnf x
    refuses 'dltime train: --output: its value is empty' "$dltime" train x.jsonl --output ''
    refuses 'dlbench run: --output: its value is empty' "$BUILD/dlbench" run --output ''
    refuses 'dlbench info: --jsno: unknown option; did you mean --json?' "$BUILD/dlbench" info --jsno
    refuses 'dlbench verify: --backend takes a value' "$BUILD/dlbench" verify --backend
    refuses 'dltime: no command "predcit"; did you mean predict?' "$dltime" predcit lenet5
    refuses 'dltime: no command "?[1m"; see dltime --help' "$dltime" $'\e[1m'
}

@test "keys may have blanks around them; a range of batches is predict's" {
    "$dltime" check 'lenet5, batch = 32 ,optimizer=adam ' >blanks
    "$dltime" check lenet5,batch=32,optimizer=adam | diff - blanks
    run --separate-stderr "$dltime" check lenet5,batch=8:64
    [ "$status" -eq 1 ]
    # shellcheck disable=SC2016 # no command
    [ "$stderr" = 'dltime check: lenet5: batch: "8:64" is a range, which only `dltime predict` takes; name one batch' ]
}

@test "--help fits a screen" {
    for command in check models; do
        run "$dltime" $command --help
        [ "$status" -eq 0 ]
        [ "${#lines[@]}" -le 24 ]
        [ "$(awk '{ if (length > longest) longest = length } END { print longest }' <<<"$output")" -le 100 ]
    done
}

@test "models lists what is shipped" {
    run "$dltime" models
    [ "$status" -eq 0 ]
    grep -Eq '^resnet50 +25.6 M +4.09 G  3 x 224 x 224$' <<<"$output"
    "$dltime" models --json >out.json
    jq -e '[.models[] | {(.name): .parameters}] | add | .lenet5 == 61706 and .alexnet == 61100840
           and .vgg16 == 138357544 and .resnet18 == 11689512 and .resnet50 == 25557032
           and .mobilenet_v2 == 3504872' out.json
}

@test "a file is read as it is in any locale" {
    LC_ALL=C "$dltime" check lenet5 --json >c.json
    for locale in $(locale -a | grep -iE '^(de|fr)_.*utf' | head -2); do
        LC_ALL=$locale "$dltime" check lenet5 --json | cmp - c.json
    done
}

@test "a full disk is reported" {
    run bash -c "'$dltime' check lenet5 >/dev/full"
    [ "$status" -eq 1 ]
    [[ "$output" == *"standard output: No space left on device"* ]]
}

@test "--version says the commit and what the programs were built with" {
    local program
    for program in dltime dlbench; do
        run "$BUILD/$program" --version
        [ "$status" -eq 0 ]
        [[ "${lines[0]}" =~ ^$program\ 0\.1\.0\ \(([0-9a-f]{7,}|unknown)\)$ ]]
        [[ "${lines[1]}" =~ ^compiler\ (gcc|clang)\ .*[0-9]+\..*,\  ]]
        [[ "${lines[2]}" =~ ^BLAS\ OpenBLAS\ [0-9.]+\;\ for\ backends\ oneDNN\ [0-9]+\.[0-9]+ ]]
    done
}
