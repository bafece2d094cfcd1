#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# dltime devices: the catalogue, what a name stands for, and what a profile holds.

bats_require_minimum_version 1.5.0

setup() {
    dltime=${BUILD:-$BATS_TEST_DIRNAME/../../build}/dltime
}

@test "lists at least 45 devices, each with an architecture and a memory" {
    run -0 --separate-stderr "$dltime" devices
    [ -z "$stderr" ]
    [[ ${lines[0]} == DEVICE*ARCHITECTURE*FP32* ]]
    (($(grep -cE '^(NVIDIA|Tesla|GeForce|Quadro|AMD) ' <<<"$output") >= 45))
    for architecture in kepler maxwell pascal volta turing ampere ada hopper blackwell cdna3; do
        grep -q " $architecture" <<<"$output"
    done
}

@test "the JSON holds every feature in the units of its key, null where unknown" {
    run -0 "$dltime" devices --json
    [ "$(jq '.devices | length' <<<"$output")" -ge 45 ]
    # Data sheet of the A100: 108 SMs, 1555 GB/s, 19.5, 156 and 312 TFLOP/s.
    jq -e '.devices[] | select(.name == "NVIDIA A100-PCIE-40GB") | .sms == 108 and
        .memory_bandwidth_gbs == 1555 and .peak_fp32_gflops == 19492 and
        .peak_tf32_gflops == 156000 and .peak_fp16_gflops == 312000 and .cores == null and
        .compute_capability == "8.0" and .aliases == ["A100 40GB PCIe"]' <<<"$output"
    jq -e '[.devices[].sms] | all(. > 0)' <<<"$output"
}

@test "tells what a GRES type stands for, and what else it could mean" {
    run -0 "$dltime" devices a100
    [[ $output == *"NVIDIA A100-PCIE-40GB"* ]]
    [[ $output == *'"a100" could also be  NVIDIA A100-SXM4-80GB'* ]]
    run -0 "$dltime" devices tesla_v100-sxm2-16gb
    [[ $output == *"Tesla V100-SXM2-16GB"* ]]
    [[ $output != *"could also"* ]]
}

@test "a name that nothing goes by fails with status 1 and says what to do" {
    run -1 --separate-stderr "$dltime" devices warp9
    [ -z "$output" ]
    [[ $stderr == *'no device goes by "warp9"'*devices.conf* ]]
    run -1 --separate-stderr "$dltime" devices --json warp9
    [ -z "$output" ]
}

@test "a MIG slice is not taken for the card it is part of" {
    run -1 "$dltime" devices 1g.10gb
}

@test "a profile's devices are listed with operators, rows and held-out errors" {
    rows="$BATS_TEST_TMPDIR/rows.jsonl"
    {
        echo '{"format":"dltime-measurements","version":1,"device":{"name":"Tesla T4",' \
            '"vendor":"nvidia","architecture":"turing","compute_capability":"7.5","sms":40,' \
            '"cores_per_sm":64,"clock_mhz":1590,"memory_bandwidth_gbs":320,"l2_mib":4},' \
            '"software":{"framework":"none","backend":"made up","timing":"events_batched"}}'
        for rows_of in 1 2 4 8 16 32 64 128; do
            for columns in 256 512 1024 2048 4096; do
                echo '{"op":"softmax","pass":"forward","dtype":"float32","math":"ieee","rows":'$((rows_of * 16))',"columns":'$columns',"median_ms":'$((rows_of * columns / 64 + 50))e-4'}'
            done
        done
    } >"$rows"
    run -0 "$dltime" train "$rows" --output "$BATS_TEST_TMPDIR/t4.dlp" --method linear
    run -0 "$dltime" devices --profile "$BATS_TEST_TMPDIR/t4.dlp"
    [[ $output == *"Tesla T4, none, made up, timed events_batched"* ]]
    [[ $output =~ softmax\ +forward\ +float32\ ieee ]]
    run -0 "$dltime" devices --profile "$BATS_TEST_TMPDIR/t4.dlp" --json
    jq -e '.devices[0] | .name == "Tesla T4" and .timing == "events_batched" and
        (.ops[0] | .op == "softmax" and .passes == ["forward"] and .rows == 40)' <<<"$output"
}

@test "a file that is no profile is refused" {
    echo nonsense >"$BATS_TEST_TMPDIR/x.dlp"
    run -1 --separate-stderr "$dltime" devices --profile "$BATS_TEST_TMPDIR/x.dlp"
    [[ $stderr == *x.dlp* ]]
    [ -z "$output" ]
}

@test "wrong usage has status 2 and points at --help" {
    run -2 "$dltime" devices --profil
    run -2 "$dltime" devices --profile
    run -2 --separate-stderr "$dltime" devices --profile x.dlp a100
    [[ $stderr == *--help* ]]
    run -0 "$dltime" devices --help
    [[ $output == Usage:* ]]
}

@test "a full disk is told" {
    [ -e /dev/full ] || skip "there is no /dev/full"
    to_full() { "$dltime" devices >/dev/full; }
    run -1 to_full
    [[ $output == *"No space left"* ]]
}
