#!/usr/bin/env bats
# dltime scaling, as a shell sees it.

bats_require_minimum_version 1.5.0

setup() {
    BUILD="${BUILD:-$BATS_TEST_DIRNAME/../../build}"
    dltime=$(readlink -f "$BUILD")/dltime
    cd "$BATS_TEST_TMPDIR" || return
}

# Step time = 2 ms x batch^0.8 x devices^0.15 x nodes^0.25, twelve runs of it.
runs() {
    awk 'BEGIN {
        print "{\"format\":\"dltime-runs\",\"version\":1}"
        for (batch = 8; batch <= 32; batch *= 2)
            for (n = 1; n <= 8; n *= 2) {
                nodes = n > 4 ? 2 : 1
                printf "{\"model\":\"net\",\"device\":\"Tesla T4\",\"devices\":%d,\"nodes\":%d," \
                       "\"batch\":%d,\"step_ms\":%.9g}\n", n, nodes, batch,
                       2 * batch^0.8 * n^0.15 * nodes^0.25
            }
    }'
}

@test "constants come out of runs without noise as they went in" {
    runs >runs.jsonl
    run -0 --separate-stderr "$dltime" scaling runs.jsonl --output site.scaling \
        --intrinsic batch --weight 0 --resamples 20
    [[ $output =~ p\ +batch\ +0\.(8|79)[0-9]* ]]
    [[ $output =~ q\ +devices\ +0\.1(5|49)[0-9]* ]]
    [[ $output =~ q\ +nodes\ +0\.2(5|49)[0-9]* ]]
    jq -e '.format == "dltime-scaling" and .cases == 9 and .networks[0].name == "net"' site.scaling
    # Nothing could be held out of one network on one device: its range is the one without a scaling.
    jq -e '.held_out == null and .sigma == 0.25' site.scaling
    run -0 "$dltime" predict lenet5,batch=8 --device t4 --devices 2 --scaling site.scaling
}

@test "one seed gives one file" {
    runs >runs.jsonl
    "$dltime" scaling runs.jsonl --output one.scaling --resamples 10 --threads 1
    "$dltime" scaling runs.jsonl --output two.scaling --resamples 10 --threads 2
    cmp one.scaling two.scaling
}

@test "runs on one device alone are refused with the mend" {
    runs | grep -v '"devices":[248]' >runs.jsonl
    run -1 --separate-stderr "$dltime" scaling runs.jsonl --output site.scaling
    [[ $stderr == *"no run on several devices has its like on one device"* ]]
    [ ! -e site.scaling ]
}

@test "a column that no run has is refused" {
    runs >runs.jsonl
    run -1 --separate-stderr "$dltime" scaling runs.jsonl --output x --intrinsic depth
    [[ $stderr == *"of 12 runs 0 have all columns"* ]]
    [ ! -e x ]
}

@test "measurements of operators are no runs" {
    printf '%s\n' '{"format":"dltime-measurements","version":1,"device":{"name":"T4"}}' >m.jsonl
    run -1 --separate-stderr "$dltime" scaling m.jsonl --output x
    [[ $stderr == *"m.jsonl: holds measurements of operators"* ]]
}

@test "the runs are not replaced by what is made of them" {
    runs >runs.jsonl
    ln -s runs.jsonl link
    cp runs.jsonl before
    run -2 "$dltime" scaling runs.jsonl --output ./runs.jsonl
    [[ $output == *"would replace the runs in runs.jsonl"* ]]
    run -2 "$dltime" scaling runs.jsonl --output link
    cmp before runs.jsonl
}

@test "wrong usage exits with 2" {
    run -2 "$dltime" scaling
    run -2 "$dltime" scaling runs.jsonl
    run -2 "$dltime" scaling runs.jsonl --output x --penalty l3
    run -2 "$dltime" scaling runs.jsonl --output x --weight -1
    run -2 "$dltime" scaling runs.jsonl --output x --intrinsic a,,b
}

@test "predict uses a scaling, a link between nodes and corrections" {
    runs >runs.jsonl
    "$dltime" scaling runs.jsonl --output site.scaling --resamples 0 2>/dev/null
    step() { "$dltime" predict resnet18,batch=8,epochs=1,samples=8000,setup=0 --device v100 --json "$@"; }
    one=$(step | jq .step_ms)
    step --devices 8 --scaling site.scaling |
        jq -e --argjson one "$one" '.step_ms / $one > 1.2 and .step_ms / $one < 1.7'
    slow=$(step --devices 4 --nodes 4 --interconnect 10gbe | jq .step_ms)
    step --devices 4 --nodes 4 --interconnect ndr | jq -e --argjson slow "$slow" '.step_ms < $slow'
    echo '{"format":"dltime-history","version":1,"corrections":[{"network":"any",
           "partition":"p","factor":1.5,"jobs":9,"users":3}]}' >history.json
    step --history history.json --partition p |
        jq -e --argjson one "$one" '(.step_ms / $one - 1.5 | fabs) < 1e-6 and .correction == 1.5'
    step --history history.json --partition q | jq -e '.correction == null'
    run -2 "$dltime" predict resnet18 --device v100 --history history.json
    run -2 "$dltime" predict resnet18 --device v100 --interconnect hrd
    [[ $output == *'did you mean hdr?'* ]]
}
