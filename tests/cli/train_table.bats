#!/usr/bin/env bats
# dltime train --method conv-table: CNNs' steps by a table of their convolutions.

bats_require_minimum_version 1.5.0

setup() {
    BUILD="${BUILD:-$BATS_TEST_DIRNAME/../../build}"
    dltime=$(readlink -f "$BUILD/dltime")
    cd "$BATS_TEST_TMPDIR" || return
}

# A device on paper, its framework's runs of CNNs 1 to $1, and a table of the convolutions of 1 to 6. The
# convolution of CNN i takes 0.05 i ms for 8 samples forward and 0.08 i ms backward; a step takes 0.3
# ms more, a third of it in each part.
paper() {
    local i
    awk -v runs="$1" 'BEGIN {
        device = "\"version\":1,\"device\":{\"name\":\"Paper\",\"vendor\":\"nvidia\",\"sms\":80," \
            "\"cores_per_sm\":64,\"clock_mhz\":1500,\"memory_gib\":16,\"memory_bandwidth_gbs\":900," \
            "\"peak_fp32_gflops\":15700},\"software\":{\"framework\":\"%s\",\"backend\":\"paper\"," \
            "\"timing\":\"host_synchronous\"}"
        printf "{\"format\":\"dltime-measurements\"," device "}\n", "none" >"rows.jsonl"
        for (i = 0; i < 40; i++)
            printf "{\"op\":\"dense\",\"pass\":\"forward\",\"batch\":%d,\"in_features\":%d,\"out_features\":%d," \
                "\"median_ms\":%g}\n", 1 + i, 100 + 7 * i, 50 + 11 * i,
                0.01 + (1 + i) * (100 + 7 * i) * (50 + 11 * i) / 1e9 >"rows.jsonl"
        printf "{\"format\":\"dltime-measurements\",\"table\":true," device "}\n", "pytorch 1" >"table.jsonl"
        printf "{\"format\":\"dltime-runs\"," device "}\n", "pytorch 1" >"runs.jsonl"
        for (i = 1; i <= 6; i++)
            for (b = 8; b <= 16; b *= 2) {
                f = 0.05 * i * b / 8
                w = 0.08 * i * b / 8
                conv = sprintf("{\"op\":\"conv2d\",\"batch\":%d,\"in_channels\":3,\"in_size\":[16,16]," \
                    "\"out_channels\":%d,\"kernel\":[3,3],\"padding\":1,\"bias\":true,", b, 8 * i)
                printf "%s\"pass\":\"forward\",\"median_ms\":%g}\n", conv, f >"table.jsonl"
                printf "%s\"pass\":\"backward_weight\",\"median_ms\":%g}\n", conv, w >"table.jsonl"
                if (i <= runs)
                    printf "{\"model\":\"cnn%d.json\",\"batch\":%d,\"pass\":\"step\",\"optimizer\":\"sgd\"," \
                        "\"framework\":\"pytorch 1\",\"forward_ms\":%g,\"backward_ms\":%g,\"step_ms\":%g}\n",
                        i, b, f + 0.1, w + 0.1, f + w + 0.3 >"runs.jsonl"
            }
    }'
    for i in 1 2 3 4 5 6; do
        echo '{"input": [3, 16, 16], "layers": [{"op": "conv2d", "out_channels": '$((8 * i))', "kernel_size": 3,
            "padding": 1}, {"op": "flatten"}]}' >cnn$i.json
    done
    echo '{"input": [64], "layers": [{"op": "dense", "out_features": 64}]}' >mlp.json
}

@test "a network left out of the runs takes its convolutions and the rest" {
    paper 5
    run --separate-stderr "$dltime" train rows.jsonl table.jsonl runs.jsonl --output table.dlp \
        --method conv-table
    [ "$status" -eq 0 ]
    [[ $stderr == *"Paper, conv-table pytorch: 6 shapes, steps of 5 networks left out"* ]]
    [[ $stderr == *"the table is used, as asked for"* ]]
    # 12 samples lie between 8 and 16: 0.13 x 6 x 1.5 + 0.3 = 1.47 ms.
    "$dltime" predict cnn6.json,batch=12,optimizer=sgd,framework=pytorch --profile table.dlp --json --ops \
        >cnn.json
    jq -e '.method == "conv-table" and .basis == "measured" and (.step_ms / 1.47 - 1 | fabs) < 0.05
           and .low_ms < .step_ms and .step_ms < .high_ms
           and (([.ops[] | .forward_ms // 0, .backward_ms // 0, .update_ms // 0] | add) / .step_ms - 1
                | fabs) < 1e-3' cnn.json
    "$dltime" predict mlp.json,batch=12,optimizer=sgd,framework=pytorch --profile table.dlp --json |
        jq -e '.method == "operators"'
    "$dltime" predict cnn6.json,batch=12,framework=pytorch --pass forward --profile table.dlp --json |
        jq -e '.method == "operators"'
    # Sizes that the table has no room for are priced as ever, not left out.
    echo '{"input": [3, 96000], "layers": [{"op": "conv1d", "out_channels": 8, "kernel_size": 3}]}' >sound.json
    "$dltime" predict sound.json,batch=12,optimizer=sgd,framework=pytorch --profile table.dlp --json --ops |
        jq -e '.method == "operators" and .ops[0].forward_ms > 0'
    "$dltime" evaluate --profile table.dlp runs.jsonl | grep -q 'cnn1.json .*conv-table'
    "$dltime" evaluate --profile table.dlp runs.jsonl --json |
        jq -e '.networks.mape < 0.05 and all(.groups[]; .method == "conv-table")'
    "$dltime" train --base table.dlp runs.jsonl --output copy.dlp 2>/dev/null # keeps it
    "$dltime" predict cnn6.json,batch=12,optimizer=sgd,framework=pytorch --profile copy.dlp --json |
        jq -e '.method == "conv-table"'
}

@test "auto says which of the two validated better" {
    paper 6
    run --separate-stderr "$dltime" train rows.jsonl table.jsonl runs.jsonl --output auto.dlp
    [ "$status" -eq 0 ]
    [[ $stderr == *"conv-table pytorch"*"the sum of operators"*" is used"* ]]
}

@test "too few networks, and a header that is wrong, are refused in one sentence" {
    paper 4
    run --separate-stderr -1 "$dltime" train rows.jsonl table.jsonl runs.jsonl --output x.dlp \
        --method conv-table
    [[ $stderr == *"--method conv-table needs measured convolutions of a device, and runs of training steps"* ]]
    [ ! -e x.dlp ]
    sed -i 's/"table":true/"table":"yes"/' table.jsonl
    run --separate-stderr -1 "$dltime" train rows.jsonl table.jsonl --output x.dlp
    [ "$stderr" = "dltime train: table.jsonl: line 1: table: has to be true or false" ]
    run -2 "$dltime" train rows.jsonl --output x.dlp --method table
}
