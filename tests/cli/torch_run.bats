#!/usr/bin/env bats
# torch-run: networks trained by PyTorch for a few steps.

bats_require_minimum_version 1.5.0

setup() {
    BUILD="${BUILD:-$BATS_TEST_DIRNAME/../../build}"
    BUILD=$(readlink -f "$BUILD")
    run="$BATS_TEST_DIRNAME/../../scripts/torch-run"
    cd "$BATS_TEST_TMPDIR" || return
    for python in /usr/bin/python3 python3; do
        if "$python" -c 'import torch' 2>/dev/null; then
            PYTHON=$python
        fi
    done
}

needs_torch() {
    [ -n "${PYTHON:-}" ] || skip "no Python here has torch"
}

@test "wrong usage exits with 2" {
    run -2 python3 "$run"
    run -2 python3 "$run" lenet5
    run -2 python3 "$run" lenet5 --output x --batch 0
    run -2 python3 "$run" lenet5 --as lenet5 --output x
    run -2 python3 "$run" lenet5 --output x --nonsense
    [ ! -e x ]
}

@test "a device is no file of runs" {
    needs_torch
    run -1 --separate-stderr "$PYTHON" "$run" lenet5 --output /dev/full --dltime "$BUILD/dltime"
    [ "$stderr" = "torch-run: /dev/full: is no file that runs can be added to" ]
}

@test "a Python without torch is told" {
    mkdir without
    echo 'raise ImportError("none here")' >without/torch.py
    PYTHONPATH=$PWD/without run -1 --separate-stderr python3 "$run" lenet5 --output x
    which=$(python3 -c 'import sys, platform; print(f"{sys.executable} (Python {platform.python_version()})")')
    [ "$stderr" = "torch-run: $which has no torch; name one that has: PYTHON $run ..." ]
    [ ! -e x ]
    PYTHONPATH=$PWD/without run -1 --separate-stderr python3 "${run%run}export" ./net.py:Net
    [ "$stderr" = "torch-export: $which has no torch; name one that has: PYTHON ${run%run}export ..." ]
}

@test "a shipped network and a module of torch.nn give runs that dltime reads" {
    needs_torch
    cat >net.py <<'END'
from torch import nn

def Net():
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.Flatten(),
                         nn.Linear(6 * 28 * 28, 10))
END
    "$PYTHON" "$run" lenet5,optimizer=adam --batch 2,4 --steps 3 --warmup 1 \
        ./net.py:Net --as ./net.json --input 1,28,28 --dltime "$BUILD/dltime" --output runs.jsonl
    jq -es '.[0].format == "dltime-runs" and .[0].device.name != ""
            and (.[0].software.framework | startswith("pytorch "))
            and (.[1:] | length == 4 and all(.step_ms >= .forward_ms and .forward_ms > 0
                 and .pass == "step" and .framework != "" and .threads >= 1))
            and .[1].model == "lenet5" and .[1].optimizer == "adam" and .[2].batch == 4
            and .[3].model == "./net.json"' runs.jsonl
}

@test "convolutions one by one are a table, in files of their own" {
    needs_torch
    "$PYTHON" "$run" resnet8 --convolutions --batch 2 --steps 2 --warmup 1 --threads 1 \
        --dltime "$BUILD/dltime" --output table.jsonl
    # Of resnet8's nine convolutions one 3 x 3 shape comes twice. The first reads the images, which need
    # no gradient.
    jq -es '.[0].format == "dltime-measurements" and .[0].table == true
            and (.[1:] | length == 16 and all(.op == "conv2d" and .batch == 2 and .median_ms > 0
                 and .threads == 1 and .network == "resnet8")
                 and (map(.pass) | unique) == ["backward", "backward_weight", "forward"]
                 and .[1].pass == "backward_weight" and .[1].in_channels == 3)' table.jsonl
    run -1 --separate-stderr "$PYTHON" "$run" resnet8 --batch 2 --dltime "$BUILD/dltime" \
        --output table.jsonl
    [[ $stderr == *"runs and convolutions go to files of their own"* ]]
}

@test "layers of every kind run as the framework's own" {
    needs_torch
    cat >net.json <<'END'
{"name": "net", "input": [4, 16, 16], "layers": [
  {"op": "conv2d", "name": "c", "out_channels": 8, "kernel_size": 3, "padding": "same", "stride": 2},
  {"op": "batch_norm"}, {"op": "silu"},
  {"op": "max_pool2d", "kernel_size": 2},
  {"op": "group_norm", "num_groups": 2},
  {"op": "conv_transpose2d", "out_channels": 8, "kernel_size": 2, "stride": 2},
  {"op": "add", "inputs": ["@", "c"]},
  {"op": "upsample", "scale_factor": 2},
  {"op": "adaptive_avg_pool2d", "output_size": 2},
  {"op": "flatten"}, {"op": "reshape", "shape": [0, 4, 8]},
  {"op": "multi_head_attention", "embed_dim": 8, "num_heads": 2},
  {"op": "layer_norm", "normalized_shape": 8},
  {"op": "lstm", "hidden_size": 6, "batch_first": true},
  {"op": "slice", "dim": 1, "start": -1}, {"op": "flatten"}, {"op": "dense", "out_features": 3}]}
END
    "$PYTHON" "$run" ./net.json --batch 2 --steps 3 --warmup 1 --dltime "$BUILD/dltime" \
        --output runs.jsonl
    jq -es '.[1].step_ms > 0' runs.jsonl
}

@test "weights of another layer are worked with, transposed ones and a loss too" {
    needs_torch
    cat >net.json <<'END'
{"name": "tied", "inputs": {"ids": {"shape": [8], "dtype": "int64"},
                            "next": {"shape": [8, 50], "dtype": "float32"}}, "layers": [
  {"op": "embedding", "name": "words", "num_embeddings": 50, "embedding_dim": 16, "inputs": ["ids"]},
  {"op": "dense", "name": "up", "out_features": 24, "bias": false},
  {"op": "dense", "out_features": 16, "bias": false, "weights": "up"},
  {"op": "dense", "out_features": 50, "weights": "words"},
  {"op": "mse_loss", "inputs": ["@", "next"]}]}
END
    "$PYTHON" "$run" ./net.json --batch 2 --steps 3 --warmup 1 --dltime "$BUILD/dltime" \
        --output runs.jsonl
    jq -es '.[1].step_ms > 0' runs.jsonl
}

@test "runs are added to a file of the same device alone" {
    needs_torch
    options=(lenet5 --batch 2 --steps 3 --warmup 1 --dltime "$BUILD/dltime" --output runs.jsonl)
    "$PYTHON" "$run" "${options[@]}"
    "$PYTHON" "$run" "${options[@]}"
    [ "$(wc -l <runs.jsonl)" -eq 3 ]
    sed -i '1s/"name": "[^"]*"/"name": "Tesla V100-SXM2-16GB"/' runs.jsonl
    run -1 --separate-stderr "$PYTHON" "$run" "${options[@]}"
    [[ $stderr == *"runs.jsonl: is of Tesla V100-SXM2-16GB, pytorch "*"name another file"* ]]
    echo nonsense >runs.jsonl
    run -1 --separate-stderr "$PYTHON" "$run" "${options[@]}"
    [[ $stderr == *"holds no runs of one device"* ]]
    [ "$(wc -l <runs.jsonl)" -eq 1 ]
}

@test "what a killed run has written by half is cut off, and the rest kept" {
    needs_torch
    options=(lenet5 --batch 2 --steps 3 --warmup 1 --dltime "$BUILD/dltime" --output runs.jsonl)
    whole='{"model": "mlp", "batch": 4, "step_ms": 1.5}'
    "$PYTHON" "$run" "${options[@]}"
    head -n 1 runs.jsonl >header
    printf '%s\n{"model": "mlp", "batch": 8, "step' "$whole" | cat header - >runs.jsonl
    run --separate-stderr "$PYTHON" "$run" "${options[@]}"
    [ "$status" -eq 0 ]
    [[ $stderr == *"runs.jsonl: its last line was written by half and is cut off"* ]]
    [ "$(sed -n 2p runs.jsonl)" = "$whole" ]
    jq -es 'length == 3 and .[2].model == "lenet5"' runs.jsonl
    # Only the end of the line is missing: nothing is lost.
    printf '%s' "$whole" | cat header - >runs.jsonl
    "$PYTHON" "$run" "${options[@]}"
    jq -es 'length == 3 and .[1].model == "mlp" and .[2].model == "lenet5"' runs.jsonl
    # Killed within the header: nothing was there yet. Half a line of something else is left alone.
    head -c 100 header >runs.jsonl
    "$PYTHON" "$run" "${options[@]}"
    jq -es 'length == 2 and .[0].format == "dltime-runs"' runs.jsonl
    printf 'my notes' >runs.jsonl
    run -1 --separate-stderr "$PYTHON" "$run" "${options[@]}"
    [ "$(cat runs.jsonl)" = 'my notes' ]
}

@test "layers that dlbench measured are timed in PyTorch" {
    needs_torch
    run -2 python3 "$run" lenet5 --operators rows.jsonl --output layers.jsonl
    # One configuration in its three passes, and one that PyTorch has no function for.
    cat >rows.jsonl <<'END'
{"format":"dltime-measurements","version":1,"device":{"name":"some CPU","vendor":"amd"},"software":{"framework":"none","timing":"host_synchronous"}}
{"op":"dense","batch":4,"in_features":8,"out_features":3,"bias":true,"pass":"forward","dtype":"float32","math":"ieee","activation":"none","optimizer":"none","threads":1,"median_ms":1}
{"op":"dense","batch":4,"in_features":8,"out_features":3,"bias":true,"pass":"backward_data","dtype":"float32","math":"ieee","activation":"none","optimizer":"none","threads":1,"median_ms":1}
{"op":"dense","batch":4,"in_features":8,"out_features":3,"bias":true,"pass":"backward_weight","dtype":"float32","math":"ieee","activation":"none","optimizer":"none","threads":1,"median_ms":1}
{"op":"conv2d","batch":1,"in_channels":1,"in_size":[8,8],"out_channels":1,"kernel":[3,3],"padding":[[0,1],[0,1]],"pass":"forward","dtype":"float32","math":"ieee","activation":"none","optimizer":"none","threads":1,"median_ms":1}
[1, 2]
{"op":"conv2d","pass":"forward","dtype":"float32"}
{"op":"dense","ba
END
    printf '\xff\n' >>rows.jsonl
    "$PYTHON" "$run" --operators rows.jsonl --threads 1 --device cpu --budget 5 --output layers.jsonl
    jq -es '(.[0].device.name == "some CPU") and (.[0].software.framework | startswith("pytorch "))
            and (.[1:] | length == 3 and all(.op == "dense" and .median_ms > 0 and .median_ms < 1000))
            and ([.[1:][].pass] == ["forward", "backward_data", "backward_weight"])' layers.jsonl
}
