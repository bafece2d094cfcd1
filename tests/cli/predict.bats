#!/usr/bin/env bats
# dltime predict: what a profile says about a network, and what it says about bad questions.

bats_require_minimum_version 1.5.0

setup_file() {
    BUILD=${BUILD:-$BATS_TEST_DIRNAME/../../build}
    export DLTIME=$BUILD/dltime
    export PROFILE=$BATS_FILE_TMPDIR/toy.dlp
    # A device that does 1 GFLOP in 1 ms and has a launch floor of 10 us: exact, so that sums can be
    # checked by hand. Named what it is.
    {
        echo '{"format":"dltime-measurements","version":1,"device":{"name":"Synthetic 1 TFLOP/s","vendor":"synthetic","sms":10,"clock_mhz":1000,"memory_gib":16,"memory_bandwidth_gbs":1000,"peak_fp32_gflops":1000},"software":{"framework":"synthetic","backend":"formula","timing":"events_batched"},"source":"t = 10 us + FLOPs / 1e12"}'
        for pass in forward backward_data backward_weight; do
            for b in 1 2 4 8 16 32 64 128 256; do
                for n in 64 100 128 256 500 512 1000 1024 2048; do
                    awk -v b=$b -v n=$n -v p=$pass 'BEGIN {
                        printf "{\"op\":\"dense\",\"pass\":\"%s\",\"dtype\":\"float32\",\"math\":\"ieee\",\"batch\":%d,\"in_features\":%d,\"out_features\":%d,\"bias\":true,\"median_ms\":%.6f,\"repeats\":5}\n", p, b, n, n, 0.01 + 2*b*n*n/1e9 }'
                done
            done
        done
    } > "$BATS_FILE_TMPDIR/toy.jsonl"
    "$DLTIME" train "$BATS_FILE_TMPDIR/toy.jsonl" --output "$PROFILE" 2> /dev/null
    cat > "$BATS_FILE_TMPDIR/mlp.json" <<'JSON'
{"name": "mlp", "input": [512],
 "layers": [{"op": "dense", "out_features": 512}, {"op": "dense", "out_features": 512}],
 "training": {"samples": 6400, "batch": 64, "optimizer": "none", "framework": "none"}}
JSON
    cd "$BATS_FILE_TMPDIR" || exit 1
}

setup() {
    cd "$BATS_FILE_TMPDIR" || exit 1
}

predict() {
    run --separate-stderr "$DLTIME" predict "$@"
}

# Two layers of 64 x 512 x 512: forward 2 x 43.5 us; backward of the first has no data gradient:
# 43.5 + 87.1 us. Together 217.8 us.
@test "a step is the sum of its units, and the first layer has no data gradient" {
    predict mlp.json --profile "$PROFILE" --pass step --json
    [ "$status" -eq 0 ]
    jq -e '.step_ms > 0.19 and .step_ms < 0.27' <<< "$output"
    jq -e '.basis == "measured" and .batch == 64 and .steps_per_epoch == 100' <<< "$output"
}

@test "--ops shows each unit and what it covers" {
    predict mlp.json --profile "$PROFILE" --json --ops
    [ "$status" -eq 0 ]
    jq -e '.ops | length == 2' <<< "$output"
    jq -e '.ops[0].backward_ms < .ops[1].backward_ms' <<< "$output"
    jq -e '.ops[0].covers | length == 1' <<< "$output"
}

@test "what is not known is null, never 0" {
    predict mlp.json --profile "$PROFILE" --json
    jq -e '.job_s == null and .epochs == null and .terms.communicate == null' <<< "$output"
    predict mlp.json,epochs=3 --profile "$PROFILE" --json
    jq -e '.job_s > 0 and .job_low_s < .job_s and .job_s < .job_high_s' <<< "$output"
}

@test "quantiles rise and the asked one is among them" {
    predict mlp.json,epochs=3 --profile "$PROFILE" --json --quantile 0.999
    jq -e '.quantiles | .["0.5"] < .["0.9"] and .["0.9"] < .["0.99"] and .["0.99"] < .["0.999"]' <<< "$output"
}

@test "twice the epochs take twice the compute" {
    predict mlp.json,epochs=4 --profile "$PROFILE" --json
    four=$(jq .terms.compute <<< "$output")
    predict mlp.json,epochs=8 --profile "$PROFILE" --json
    jq -e --argjson four "$four" '(.terms.compute / $four - 2) | fabs < 1e-6' <<< "$output"
}

@test "a range of batches gives time per sample and the largest that fits" {
    predict mlp.json,batch=8:100 --profile "$PROFILE" --json
    [ "$status" -eq 0 ]
    jq -e '[.batches[].batch] == [8, 16, 32, 64, 100]' <<< "$output"
    jq -e '.batches[0].sample_ms > .batches[4].sample_ms and .largest_that_fits == 100' <<< "$output"
    jq -e '.model == "mlp" and .device == "Synthetic 1 TFLOP/s" and .devices == 1' <<< "$output"
    predict 'mlp.json, batch = 8 : 16 ,epochs=2' --profile "$PROFILE"
    [[ ${lines[0]} == "mlp on 1 x Synthetic 1 TFLOP/s: "*" parameters, float32" ]]
    [ "$(awk '/^ +[0-9]/ { print $1 }' <<< "$output" | xargs)" = "8 16" ]
}

@test "an epoch below a second is no second" {
    predict mlp.json,batch=64,epochs=2,samples=640,setup=0 --profile "$PROFILE"
    [[ $output =~ "epoch "[\ ]+[0-9.]+\ ms\ .*" - "[0-9.]+" ms" ]] || { echo "$output" && return 1; }
}

@test "a profile of an unknown name names the nearest, or all that there are" {
    predict mlp.json --profile genral
    [ "$status" -eq 1 ]
    [ "$stderr" = 'dltime predict: no profile is called "genral"; did you mean "general"?' ]
    run "$DLTIME" devices --profile zzz
    [ "$status" -eq 1 ]
    for name in "$BATS_TEST_DIRNAME"/../../etc/profiles/*.dlp; do
        [[ $output == *"$(basename "$name" .dlp)"* ]]
    done
}

@test "a layout that no row tells from the usual one is said not to have been measured" {
    cnn=$BATS_TEST_DIRNAME/../../etc/examples/small_cnn.json,batch=8
    awk -v n=60 -f "$BATS_TEST_DIRNAME/../rows.awk" >nchw.jsonl
    "$DLTIME" train nchw.jsonl --method cost --output nchw.dlp 2>/dev/null
    predict "$cnn,layout=nhwc" --profile nchw.dlp
    [[ $output == *"extrapolated; nhwc was not measured"* ]]
    predict "$cnn" --profile nchw.dlp
    [[ $output != *nhwc* ]]
    # The same rows in nhwc, in half the time.
    { cat nchw.jsonl; jq -c 'select(.op == "conv2d") | .layout = "nhwc" | .median_ms /= 2' nchw.jsonl; } >both.jsonl
    "$DLTIME" train both.jsonl --output both.dlp 2>/dev/null
    predict "$cnn,layout=nhwc" --profile both.dlp
    [[ $output != *"was not measured"* ]]
}

@test "a range that is none is refused with the form of one" {
    for range in 8:4 8: :8 0:8 8:x '8 x:9' '8: 9 9'; do
        run -1 "$DLTIME" predict "mlp.json,batch=$range" --profile "$PROFILE"
        [[ $output == *"mlp.json,batch=$range: batch: a range is LOW:HIGH, such as 8:512, not \"$range\""* ]]
    done
}

@test "the forward pass alone is cheaper than a step" {
    predict mlp.json --profile "$PROFILE" --json --pass forward
    forward=$(jq .step_ms <<< "$output")
    predict mlp.json --profile "$PROFILE" --json
    jq -e --argjson forward "$forward" '.step_ms > $forward * 1.8' <<< "$output"
}

@test "inference drops nothing; a frozen trunk has no backward; shared weights are updated once" {
    cat >modes.json <<'JSON'
{"input": [8, 16, 16], "training": {"batch": 4, "optimizer": "sgd"}, "layers": [
 {"name": "trunk", "trainable": false, "layers": [
  {"op": "conv2d", "name": "conv", "out_channels": 8, "kernel_size": 3, "bias": false},
  {"op": "batch_norm", "name": "norm"}]},
 {"op": "flatten"}, {"op": "dense", "name": "one", "out_features": 1568, "bias": false},
 {"op": "dropout", "name": "drop"},
 {"op": "dense", "name": "two", "out_features": 1568, "bias": false, "weights": "one"}]}
JSON
    # 3 x 3 x 8 x 8 + 2 x 8 frozen, 1568 x 1568 trained.
    "$DLTIME" check modes.json --json |
        jq -e '.parameters == 592 + 1568 * 1568 and .trainable == 1568 * 1568'
    predict modes.json --profile "$PROFILE" --json --ops
    jq -e '([.ops[].name] == ["trunk.conv", "trunk.norm", "one", "drop", "two", "optimizer_update"])
           and (.ops | map({key: .name, value: .backward_ms}) | from_entries
                | .["trunk.conv"] == 0 and .["trunk.norm"] == 0 and .one > 0 and .drop > 0
                and .two > 1.9 * .one)' <<< "$output"
    step=$output
    predict modes.json --profile "$PROFILE" --json --ops --pass forward
    # Statistics that are there already need not be found: batch_norm reads its input once less.
    jq -e --argjson step "$step" '([.ops[].name] == ["trunk.conv", "trunk.norm", "one", "two"])
           and (.ops | all(.backward_ms == null and .update_ms == null))
           and .ops[1].forward_ms < $step.ops[1].forward_ms' <<< "$output"
}

@test "numbers do not depend on the locale" {
    predict mlp.json --profile "$PROFILE" --json
    plain=$output
    LC_ALL=de_DE.UTF-8 predict mlp.json --profile "$PROFILE" --json
    [ "$output" = "$plain" ]
}

@test "an unknown device names those that the profile has" {
    predict mlp.json --profile "$PROFILE" --device h100
    [ "$status" -eq 1 ]
    [ -z "$output" ]
    [[ "$stderr" == *h100* && "$stderr" == *"Synthetic 1 TFLOP/s"* ]]
}

@test "a missing profile, model or batch is one sentence" {
    predict mlp.json --profile none.dlp
    [ "$status" -eq 1 ] && [[ "$stderr" == *"none.dlp: No such file"* ]]
    predict nothing.json --profile "$PROFILE"
    [ "$status" -eq 1 ] && [[ "$stderr" == *"nothing.json"* ]]
    sed 's/"batch": 64, //' mlp.json > nobatch.json
    predict nobatch.json --profile "$PROFILE"
    [ "$status" -eq 1 ] && [[ "$stderr" == *"batch=N"* ]]
}

@test "wrong usage exits with 2 and says what is right" {
    predict mlp.json
    [ "$status" -eq 2 ] && [[ "$stderr" == *"--profile FILE"* ]]
    predict --profile "$PROFILE"
    [ "$status" -eq 2 ]
    predict mlp.json --profile "$PROFILE" --devices 0
    [ "$status" -eq 2 ] && [[ "$stderr" == *"--devices"* ]]
    predict mlp.json --profile "$PROFILE" --pass sideways
    [ "$status" -eq 2 ]
    predict mlp.json,batch=8:16 --profile "$PROFILE" --ops
    [ "$status" -eq 2 ]
    [[ $stderr == *"--ops and --quantile are of one batch, not of a range"* ]]
    predict mlp.json --profile "$PROFILE" --quantile 1
    [ "$status" -eq 2 ]
}

@test "more nodes than devices are refused, more than the training uses are not" {
    predict mlp.json --profile "$PROFILE" --nodes 2
    [ "$status" -eq 1 ] && [ -z "$output" ]
    [[ "$stderr" == *"2 nodes need at least as many devices, not 1"* ]]
    predict mlp.json --profile "$PROFILE" --devices 2 --nodes 4
    [ "$status" -eq 1 ] && [[ "$stderr" == *"4 nodes"*"not 2"* ]]
    predict mlp.json,devices=2 --profile "$PROFILE" --devices 8 --nodes 4 --json
    [ "$status" -eq 0 ] && jq -e '.devices == 2 and .nodes == 2' <<< "$output"
}

@test "a cut, altered or foreign profile is refused" {
    head -c 300 "$PROFILE" > cut.dlp
    predict mlp.json --profile cut.dlp
    [ "$status" -eq 1 ] && [[ "$stderr" == *cut.dlp* ]]
    predict mlp.json --profile mlp.json
    [ "$status" -eq 1 ] && [[ "$stderr" == *mlp.json* ]]
}

@test "a full disk is reported" {
    run --separate-stderr bash -c "'$DLTIME' predict mlp.json --profile '$PROFILE' > /dev/full"
    [ "$status" -eq 1 ]
    [[ "$stderr" == *"No space left"* ]]
}

@test "a profile with an altered section is refused" {
    size=$(stat -c %s "$PROFILE")
    for back in 64 $((size / 4)) $((size / 2)); do
        cp "$PROFILE" altered.dlp
        printf 'ALTERED!' | dd of=altered.dlp bs=1 seek=$((size - back)) conv=notrunc status=none
        predict mlp.json --profile altered.dlp
        [ "$status" -eq 1 ]
        [[ "$stderr" == *"was altered"*"copy the profile again"* ]]
        [ -z "$output" ]
    done
}

@test "validation without the size of an epoch is refused, not forgotten" {
    predict mlp.json,samples=0,steps=10,validation_samples=100 --profile "$PROFILE"
    [ "$status" -ne 0 ]
    sed 's/"samples": 6400, //' mlp.json > nosamples.json
    predict nosamples.json,steps=10,validation_samples=100 --profile "$PROFILE"
    [ "$status" -eq 1 ] && [[ "$stderr" == *"add samples=N"* ]]
    predict nosamples.json,steps=10 --profile "$PROFILE" --json
    [ "$status" -eq 0 ] && jq -e '.job_s > 0' <<< "$output"
}

# 20 samples in batches of 8: two, and one of 4. Half of a batch takes less than half of the 10 us that a
# layer takes whatever its size, so it has to be priced by itself: 10 us + 2.1 us a layer and pass.
# Figures have nine digits: three terms of 0.2 ms and their sum of 0.6 ms are off by 2e-12 s at most.
@test "terms add up to the job, and the last batch has its own size" {
    predict mlp.json,samples=20,batch=8,epochs=3,accumulate=2,setup=0 --profile "$PROFILE" --json
    jq -e '([.terms[] | numbers] | add) as $sum | ($sum - .job_s) | fabs < 2e-12' <<< "$output"
    jq -e '.steps_per_epoch == 2 and .terms.shard == null and .terms.load == null' <<< "$output"
    jq -e '.terms | .last_batch > 0.6 * .accumulate and .last_batch < .accumulate' <<< "$output"
    predict mlp.json,samples=20,batch=4,epochs=3,setup=0 --profile "$PROFILE" --json
    small=$(jq '.terms.compute / 5' <<< "$output")
    predict mlp.json,samples=20,batch=8,epochs=3,setup=0 --profile "$PROFILE" --json
    jq -e --argjson small "$small" '(.terms.last_batch / $small - 1) | fabs < 1e-6' <<< "$output"
}

@test "checkpoints take the rate that the model says" {
    predict mlp.json,epochs=3,checkpoint_every=1,checkpoint_gib=1,checkpoint_mb_per_s=100 \
        --profile "$PROFILE" --json
    jq -e '(.terms.checkpoint - 3 * 10.73741824) | fabs < 1e-6' <<< "$output"
}
