#!/usr/bin/env bats
# The CUDA backend: what can be said of it without a GPU. Its operators run on a device on the host.

# shellcheck disable=SC2030,SC2031 # each test has its own libraries

bats_require_minimum_version 1.5.0

setup() {
    BUILD="${BUILD:-$BATS_TEST_DIRNAME/../../build}"
    BUILD=$(readlink -f "$BUILD")
    backend="$BUILD/backend_cuda13.so"
    host="$BUILD-host"
    [ -e "$backend" ] || skip "backend_cuda13.so was not built: no toolkit with cuDNN 9"
    cd "$BATS_TEST_TMPDIR" || return
    unset SLURM_CPUS_PER_TASK
}

driver() {
    ldconfig -p | grep -q 'libcuda\.so\.1'
}

@test "without a driver run says so in one sentence, and info as well" {
    ! driver || skip "this machine has a driver"
    for command in "run --output out.jsonl" "verify" "network lenet5 --output runs.jsonl"; do
        # shellcheck disable=SC2086
        run --separate-stderr "$BUILD/dlbench" $command --backend cuda
        [ "$status" -eq 1 ]
        [ -z "$output" ]
        [ "$stderr" = "dlbench ${command%% *}: backend cuda: no NVIDIA driver on this machine (libcuda.so.1)" ]
    done
    [ ! -e out.jsonl ]
    [ ! -e runs.jsonl ]
    run --separate-stderr "$BUILD/dlbench" info
    [ "$status" -eq 0 ]
    grep -A 1 -Fx 'Backend cuda' <<<"$output" | grep -F 'no NVIDIA driver on this machine'
}

@test "every symbol that the backend needs is in the program or in the toolkit's libraries" {
    libraries=$(ldd "$backend" | awk '/=> \// { print $3 }')
    [ "$(ldd "$backend" | grep -c 'not found')" -eq 0 ]
    # shellcheck disable=SC2086
    nm -D --defined-only "$BUILD/dlbench" $libraries 2>/dev/null | awk 'NF == 3 { print $3 }' |
        sed 's/@.*//' | sort -u >defined
    nm -D --undefined-only "$backend" | awk '$1 == "U" { print $2 }' | sed 's/@.*//' | sort -u >needed
    [ -s needed ]
    [ -z "$(comm -23 needed defined)" ]
    # One symbol for dlbench, and no driver among what is loaded.
    [ "$(nm -D --defined-only "$backend" | awk '{ print $3 }')" = dlbench_backend ]
    [ "$(readelf -d "$backend" | grep -Ec 'NEEDED.*(libcuda\.so|libnvidia)')" -eq 0 ]
}

@test "every operator, pass and type on the host's device agrees with the reference" {
    [ -e "$host/backend_cuda13.so" ] || skip "the device on the host was not built"
    run --separate-stderr "$host/dlbench" verify --backend cuda13
    [ "$status" -eq 0 ]
    for type in float32 tf32 float16 bfloat16; do
        grep -Eq "^# $type: [1-9][0-9]{2} compared" <<<"$output"
    done
    grep -Eq '^# [1-9][0-9]{3} results compared, 0 wrong' <<<"$output"
    # gpu-check goes through all of them, in parts.
    awk '/^  / { print $1 }' <<<"$output" | sort -u >ops
    [ -s ops ]
    sed -n '/^verify()/,/^}/p' "$BATS_TEST_DIRNAME/../../scripts/gpu-check" | tr -c 'a-z0-9_' '\n' |
        sort -u >parts
    [ -z "$(comm -23 ops parts)" ]
}

@test "a process that has lost the device says so, keeps its rows, and another one goes on" {
    [ -e "$host/backend_cuda13.so" ] || skip "the device on the host was not built"
    options=(run --backend cuda13 --memory 64 --ops max_pool1d --samples 40 --quiet --output lost.jsonl)
    HOST_LAUNCHES=2000 run --separate-stderr "$host/dlbench" "${options[@]}"
    [ "$status" -eq 1 ]
    [[ "$stderr" == *"ended, as the device no longer answers this process; --resume with another --seed goes on" ]]
    rows=$(grep -c '"op"' lost.jsonl)
    [ "$rows" -ge 1 ]
    "$host/dlbench" "${options[@]}" --resume --seed 2 --samples 2
    [ "$(grep -c '"op"' lost.jsonl)" -gt "$rows" ]
    HOST_LAUNCHES=100 run --separate-stderr "$host/dlbench" verify --backend cuda13 --ops softmax,max_pool2d
    [ "$status" -eq 1 ]
    [[ "$stderr" == *"ended, as the device no longer answers this process; --ops checks what is left" ]]
    # What broke it is the last line before the sums.
    [ "$(grep -c 'an error' <<<"$output")" -eq 1 ]
}

@test "cuDNN has engines for attention in one piece on an H100, and what they are asked is attention" {
    [ -e "$host/backend_cuda13.so" ] || skip "the device on the host was not built"
    export LD_LIBRARY_PATH="$host/driver"
    run --separate-stderr "$host/dlbench" verify --backend cuda13 --ops scaled_dot_product_attention
    [ "$status" -eq 0 ]
    # An engine for each way; float32 has none.
    [ "$(grep -Ec ' (float16|bfloat16) .* cudnn_graph_[0-9]+ .* ok$' <<<"$output")" -eq 12 ]
    [ "$(grep -Ec ' (float32|tf32) .* unfused .* ok$' <<<"$output")" -eq 12 ]
}

@test "a row holds what the driver's management library says, and one of a shared device is marked" {
    [ -e "$host/backend_cuda13.so" ] || skip "the device on the host was not built"
    export LD_LIBRARY_PATH="$host/driver"
    options=(run --backend cuda13 --memory 64 --ops max_pool1d --samples 1 --quiet --output)
    "$host/dlbench" "${options[@]}" alone.jsonl
    [[ "$(head -n 1 alone.jsonl)" == *', driver 580.95.05, ECC on, 1 process"'* ]]
    [[ "$(head -n 1 alone.jsonl)" == *'; cublasLt '[0-9]*', driver '* ]]
    [[ "$(tail -n 1 alone.jsonl)" == *'"clock_mhz":1234,"temperature_c":61,"power_w":345.6'* ]]
    HOST_NVML_PROCESSES=2 "$host/dlbench" "${options[@]}" shared.jsonl
    [[ "$(head -n 1 shared.jsonl)" == *', ECC on, 2 processes"'* ]]
    HOST_NVML_THROTTLE=0x40 "$host/dlbench" "${options[@]}" hot.jsonl
    [[ "$(head -n 1 hot.jsonl)" == *', clocks held by thermal (hardware)"'* ]]
    # The power cap holds every busy device's clocks.
    HOST_NVML_THROTTLE=0x4 "$host/dlbench" "${options[@]}" capped.jsonl
    [[ "$(head -n 1 capped.jsonl)" == *', driver 580.95.05, ECC on, 1 process"'* ]]
    for file in shared hot; do
        [ "$(grep -c '"op"' $file.jsonl)" -eq "$(grep -c '"disturbed":true' $file.jsonl)" ]
    done
}

@test "a network with shared weights, broadcasting and attention learns on the host's device" {
    [ -e "$host/backend_cuda13.so" ] || skip "the device on the host was not built"
    cat >tiny.json <<'JSON'
{"name": "tiny", "inputs": {"ids": {"shape": ["seq"], "dtype": "int64"}}, "layers": [
  {"op": "embedding", "name": "words", "num_embeddings": 12, "embedding_dim": 8, "inputs": ["ids"]},
  {"op": "arange", "name": "index", "end": "seq"},
  {"op": "embedding", "name": "positions", "num_embeddings": 8, "embedding_dim": 8},
  {"op": "add", "inputs": ["words", "positions"]},
  {"op": "layer_norm", "name": "x"},
  {"op": "transpose", "name": "keys", "dim0": -2, "dim1": -1, "inputs": ["x"]},
  {"op": "matmul", "inputs": ["x", "keys"]},
  {"op": "softmax"},
  {"op": "matmul", "inputs": ["@", "x"]},
  {"op": "dense", "out_features": 12, "bias": false, "weights": "words"}],
 "training": {"seq": 4, "batch": 2, "optimizer": "sgd"}}
JSON
    for steps in 1 12; do
        run --separate-stderr "$host/dlbench" network tiny.json --backend cuda13 --steps "$steps" \
            --output runs.jsonl
        [ "$status" -eq 0 ]
        awk '/^  tiny/ { print $(NF - 2) }' <<<"$output" >>losses
    done
    # The same network with the same data: more steps, less loss.
    awk 'NR == 1 { first = $1 } NR == 2 { exit !($1 < first) }' losses
}

@test "gpu-check --dry-run builds, links, and says what it would do within eight minutes" {
    export BUILD CUDA13_TARGETS="sm_90 compute_75" CUDA12_TARGETS="sm_60 sm_70"
    run --separate-stderr "$BATS_TEST_DIRNAME/../../scripts/gpu-check" --dry-run out
    [ "$status" -eq 0 ]
    grep -Fq 'backend_cuda13.so' <<<"$output"
    for stage in setup info verify networks run evaluate; do
        grep -Eq "^$stage +[0-9]+ s  " <<<"$output"
    done
    [ "$(awk '$3 == "s" { sum += $2 } END { print sum }' <<<"$output")" -le 480 ]
    # What a node without packages or a network needs is beside the programs.
    ls "$BUILD"/lib/libjson-c.so.* "$BUILD"/lib/libopenblas.so.*
    BUILD=nothing run "$BATS_TEST_DIRNAME/../../scripts/gpu-check" --built out
    [ "$status" -eq 1 ]
    [ "$output" = "gpu-check: nothing was not built: run scripts/gpu-check --dry-run first" ]
}
