#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Which profile answers where nobody names one, and what a general one says of other devices.

bats_require_minimum_version 1.5.0

# A tree of its own with profiles of made-up measurements: two cards under PyTorch, the second also
# under TensorFlow, and a general profile of them.
setup_file() {
    BUILD=${BUILD:-$BATS_TEST_DIRNAME/../../build}
    root=$BATS_FILE_TMPDIR/tree
    mkdir -p "$root/build" "$root/predictor" "$root/etc/profiles"
    cp "$BUILD/dltime" "$root/build"
    cp "$BATS_TEST_DIRNAME/../../predictor/dltime.h" "$root/predictor"
    cp -r "$BATS_TEST_DIRNAME/../../etc/models" "$BATS_TEST_DIRNAME/../../etc/devices.conf" "$root/etc"
    export DLTIME=$root/build/dltime PROFILES=$root/etc/profiles
    cd "$BATS_FILE_TMPDIR" || exit 1
    rows "Tesla V100-PCIE-32GB" "pytorch 2.1.0" >v100.jsonl
    rows "Tesla P100-PCIE-16GB" "pytorch 2.1.0" 1.6 >p100.jsonl
    rows "Tesla P100-PCIE-16GB" "tensorflow 1.x" 1.6 >p100-tf.jsonl
    "$DLTIME" train v100.jsonl p100.jsonl p100-tf.jsonl --method cost --output general.dlp \
        --each "$PROFILES" 2>/dev/null
    cp general.dlp "$PROFILES"
}

rows() { # DEVICE FRAMEWORK [SLOWER]
    awk -v n=40 -f "$BATS_TEST_DIRNAME/../rows.awk" |
        awk -F'"median_ms":' -v slower="${3:-1}" \
            'NR > 1 { $0 = $1 "\"median_ms\":" slower * $2 "}" } { print }' |
        sed -e "1s/Made up/$1/" -e "1s/\"software\":{/&\"framework\":\"$2\",/"
}

setup() {
    cd "$BATS_FILE_TMPDIR" || exit 1
}

profile_of() { # PREDICT-ARGUMENT...: name of the profile that answered
    "$DLTIME" predict "$@" --json | jq -r .profile | sed 's#.*/##'
}

@test "train --each names a profile for each device and framework, with its own sources alone" {
    run -0 ls "$PROFILES"
    [ "$output" = "general.dlp
tesla-p100-pcie-16gb.pytorch.dlp
tesla-p100-pcie-16gb.tensorflow.dlp
tesla-v100-pcie-32gb.pytorch.dlp" ]
    run -0 grep -aoE '[a-z0-9-]+\.jsonl' "$PROFILES/tesla-p100-pcie-16gb.tensorflow.dlp"
    [ "$output" = p100-tf.jsonl ]
    # What was learned once is the same in both.
    "$DLTIME" predict resnet18,batch=8 --device v100 --profile general --json |
        jq 'del(.profile)' >general.json
    "$DLTIME" predict resnet18,batch=8 --device v100 --json | jq 'del(.profile)' >own.json
    diff general.json own.json
}

@test "the device's own profile answers, of its frameworks the one asked for" {
    [ "$(profile_of resnet18,batch=8 --device v100)" = tesla-v100-pcie-32gb.pytorch.dlp ]
    [ "$(profile_of resnet18,batch=8 --device p100)" = tesla-p100-pcie-16gb.pytorch.dlp ]
    [ "$(profile_of resnet18,batch=8,framework=tensorflow --device nvidia_tesla_p100-pcie-16gb)" = \
        tesla-p100-pcie-16gb.tensorflow.dlp ]
}

@test "measured under another framework is no more than general, and wider" {
    "$DLTIME" predict resnet18,batch=8 --device v100 --json >same.json
    "$DLTIME" predict resnet18,batch=8,framework=tensorflow --device v100 --json >other.json
    jq -e '.basis == "general" or .basis == "cost model"' other.json
    jq -es '.[0].high_ms / .[0].low_ms < 0.8 * .[1].high_ms / .[1].low_ms' same.json other.json
}

@test "a card that nobody measured is answered by the general profile, and says so" {
    run -0 "$DLTIME" predict resnet50,batch=32 --device h100
    [[ $output == *"NVIDIA H100"* && $output == *general.dlp* ]]
    [[ $output =~ "rests on"\ +(general|cost\ model) ]]
    "$DLTIME" predict resnet50,batch=32 --device h100 --json >h100.json
    "$DLTIME" predict resnet50,batch=32 --device v100 --json >v100.json
    # Twice the V100's bandwidth and three times its arithmetic: faster, and less sure.
    jq -es '.[0].step_ms < .[1].step_ms and
        .[0].high_ms / .[0].low_ms > .[1].high_ms / .[1].low_ms' h100.json v100.json
}

# NVIDIA sells three cards as H100: PCIe, SXM5 (whose driver says HBM3) and NVL.
@test "of a name that several cards have the answer says which was taken, once" {
    run -0 "$DLTIME" predict resnet50,batch=32 --device h100
    [ "$(grep -c "h100 was taken for NVIDIA H100 PCIe; it could also be" <<< "$output")" -eq 1 ]
    [[ $output == *"NVIDIA H100 80GB HBM3"* && $output == *"NVIDIA H100 NVL"* ]]
    run -0 "$DLTIME" predict resnet50,batch=8:16 --device h100
    [ "$(grep -c "h100 was taken for NVIDIA H100 PCIe; it could also be" <<< "$output")" -eq 1 ]
    run -0 "$DLTIME" predict resnet50,batch=32 --device nvidia_h100_80gb_hbm3
    [[ $output == *"NVIDIA H100 80GB HBM3"* && $output != *"was taken for"* ]]
    run -0 "$DLTIME" predict resnet50,batch=32 --device t4
    [[ $output != *"was taken for"* ]]
}

@test "a name that nothing goes by, and no device at all, are told" {
    run -1 --separate-stderr "$DLTIME" predict resnet18,batch=8 --device h1000
    [[ $stderr == *'no device goes by "h1000"'* ]]
    run -2 --separate-stderr "$DLTIME" predict resnet18,batch=8
    [[ $stderr == *"which device? Give --device NAME"* ]]
    run -2 --separate-stderr "$DLTIME" predict resnet18,batch=8 --profile ''
    [[ $stderr == *"--profile: its value is empty"* ]]
}

@test "the largest batch that fits lies between the table's lines" {
    run -0 "$DLTIME" predict resnet50,batch=8:512 --device p100 --json
    largest=$(jq .largest_that_fits <<<"$output")
    ((largest > 128 && largest < 256))
    jq -e --argjson n "$largest" '.batches | map(select(.fits == "yes") | .batch) | max < $n' \
        <<<"$output"
    "$DLTIME" predict "resnet50,batch=$largest" --device p100 --json | jq -e '.fits == "yes"'
    "$DLTIME" predict "resnet50,batch=$((largest + 1))" --device p100 --json | jq -e '.fits != "yes"'
}

@test "devices says which installed profile measured which device" {
    run -0 "$DLTIME" devices
    grep -E '^Tesla P100-PCIE-16GB .*tesla-p100-pcie-16gb\.pytorch +tesla-p100-pcie-16gb\.tensorflow$' \
        <<<"$output"
    run -0 "$DLTIME" devices --json
    jq -e '.devices[] | select(.name == "Tesla V100-PCIE-32GB") | .profiles ==
        ["tesla-v100-pcie-32gb.pytorch"]' <<<"$output"
}

# Runs that take twice what the profile says: steps are learned, operators stay.
@test "runs alone teach a base profile how its operators add up" {
    step=$("$DLTIME" predict resnet18,batch=64 --device v100 --json | jq .step_ms)
    {
        echo '{"format":"dltime-runs","version":1}'
        for model in resnet18 resnet34 resnet50 vgg11 alexnet; do
            "$DLTIME" predict $model,batch=64 --device v100 --json | jq -c '{model: .model,
                device: .device, batch: .batch, pass: "step", optimizer: "sgd",
                framework: "pytorch", step_ms: (2 * .step_ms)}'
        done
    } >runs.jsonl
    run -0 --separate-stderr "$DLTIME" train runs.jsonl --base "$PROFILES/tesla-v100-pcie-32gb.pytorch.dlp" \
        --output twice.dlp
    [[ $stderr == *"5 runs of 5 networks"* ]]
    "$DLTIME" predict resnet18,batch=64 --profile twice.dlp --json |
        jq -e --argjson step "$step" '.step_ms / $step > 1.7 and .step_ms / $step < 2.1'
    run -0 --separate-stderr "$DLTIME" evaluate --profile twice.dlp runs.jsonl --json
    jq -e '.networks.n == 5 and .networks.mape < 0.15 and .operators.n == 0' <<<"$output"
    # One network tells less of all devices than five, and as much as ever of its own.
    "$DLTIME" train runs.jsonl --base general.dlp --output five.dlp 2>/dev/null
    head -n 2 runs.jsonl >one.jsonl
    run -0 --separate-stderr "$DLTIME" train one.jsonl --base five.dlp --output one.dlp
    [[ $stderr == *"any device"*"5 runs of 5 networks"* ]]
    [[ $stderr == *"V100"*"1 run of 1 network;"* ]]
}

@test "networks whose files begin alike are scored apart" {
    local name
    mkdir -p folders/of-networks-with-a-long-name
    {
        echo '{"format":"dltime-runs","version":1}'
        for name in net-1 net-2; do
            cp "$PROFILES/../models/lenet5.json" folders/of-networks-with-a-long-name/$name.json
            printf '{"model":"%s","device":"%s","batch":8,"framework":"pytorch","step_ms":10}\n' \
                folders/of-networks-with-a-long-name/$name.json "Tesla V100-PCIE-32GB"
        done
    } >alike.jsonl
    run -0 "$DLTIME" evaluate --profile general.dlp alike.jsonl --json
    jq -e '[.groups[] | [.op, .n]] == [["folders/of-networks-with-a-long-name/net-1.json", 1],
        ["folders/of-networks-with-a-long-name/net-2.json", 1]]' <<<"$output"
}
