#!/usr/bin/env bats
# dlbench network: whole training steps of any network, with the oneDNN backend.

bats_require_minimum_version 1.5.0

setup() {
    BUILD="${BUILD:-$BATS_TEST_DIRNAME/../../build}"
    BUILD=$(readlink -f "$BUILD")
    dlbench="$BUILD/dlbench"
    cd "$BATS_TEST_TMPDIR" || return
    unset SLURM_CPUS_PER_TASK
}

@test "network says where a step's time went, and how near its memory is to the least" {
    "$dlbench" network resnet8,batch=2,steps=2 --ops --json --backend onednn --output runs.jsonl >out
    # 10 % above the most that is alive at once is what placing buffers may cost.
    jq -e '.model == "resnet8" and .step_ms > 0 and .memory_mib >= .least_memory_mib
           and .memory_mib < 1.1 * .least_memory_mib
           and ([.ops[] | select(.op == "conv2d")] | length == 9 and all(.forward_ms > 0))' out
    run "$dlbench" network resnet8,batch=2,steps=2 --ops --backend onednn --output runs.jsonl
    grep -Eq '^    conv2d +9 .* %$' <<<"$output"
}

@test "attention, recurrent layers, embeddings and shared weights train" {
    cat >m.json <<'END'
{ "name": "m", "inputs": {"ids": {"shape": [6], "dtype": "int64"}},
  "layers": [
    {"op": "embedding", "name": "table", "num_embeddings": 50, "embedding_dim": 16, "inputs": ["ids"]},
    {"op": "lstm", "hidden_size": 16, "batch_first": true},
    {"op": "multi_head_attention", "embed_dim": 16, "num_heads": 2, "batch_first": true},
    {"op": "rms_norm"},
    {"op": "dense", "out_features": 50, "bias": false, "weights": "table"} ] }
END
    run --separate-stderr "$dlbench" network m.json,batch=4,optimizer=adam --steps 400 \
        --backend onednn --output runs.jsonl
    [ "$status" -eq 0 ]
    # Guessing costs ln(50) = 3.91.
    awk '/^  m / { if ($(NF - 2) >= 3.91) bad = 1; rows++ } END { exit bad || rows != 1 }' \
        <<<"$output"
}

@test "images are moved, padded, resampled and broadcast" {
    cat >m.json <<'END'
{ "name": "m", "input": [8, 6, 6],
  "layers": [
    {"op": "pad", "padding": 1}, {"op": "conv2d", "name": "c", "out_channels": 12, "kernel_size": 3},
    {"op": "channel_shuffle", "groups": 3}, {"op": "group_norm", "num_groups": 4}, {"op": "hardswish"},
    {"op": "adaptive_avg_pool2d", "name": "p", "output_size": 1},
    {"op": "mul", "inputs": ["@", "c"]},
    {"op": "pixel_shuffle", "upscale_factor": 2}, {"op": "upsample", "scale_factor": 2},
    {"op": "conv_transpose2d", "out_channels": 4, "kernel_size": 2, "stride": 2},
    {"op": "permute", "dims": [0, 2, 3, 1]}, {"op": "slice", "dim": 1, "start": 4, "end": 20},
    {"op": "mean", "dim": [1, 2]}, {"op": "dense", "out_features": 5} ] }
END
    run --separate-stderr "$dlbench" network m.json,batch=4,optimizer=adam --steps 500 \
        --backend onednn --output runs.jsonl
    [ "$status" -eq 0 ]
    # Guessing costs ln(5) = 1.61.
    awk '/^  m / { if ($(NF - 2) >= 1.61) bad = 1; rows++ } END { exit bad || rows != 1 }' \
        <<<"$output"
}

@test "a network that cannot be run says which operator is missing" {
    cat >m.json <<'END'
{ "name": "m", "input": [4, 6, 6],
  "layers": [{"op": "upsample", "scale_factor": 2, "mode": "bicubic"},
             {"op": "flatten"}, {"op": "dense", "out_features": 2}] }
END
    run -1 "$dlbench" network m.json,batch=2 --steps 1 --backend onednn --output runs.jsonl
    [[ "$output" == *"(upsample): onednn has no bicubic interpolation"* ]]
}

@test "a network too large for the memory is refused before any is taken" {
    ! "$dlbench" --version | grep -q fsanitize=address || skip "the sanitizer needs all addresses"
    # 2.65e9 parameters: weight, gradient and adam's two states, 16 bytes each.
    run -1 "$dlbench" network gpt3_2.7b,batch=1,seq=16 --steps 1 --backend onednn --output runs.jsonl \
        --memory 1000
    [[ "$output" == *"weights, gradients and states of adam take 39.5 GiB, and there are 1000 MiB"* ]]
    # The address space is a limit as well, and so is data.
    for of in -v -d; do
        run -1 bash -c 'ulimit "$0" 2000000; exec "$@"' $of "$dlbench" network gpt2_xl,batch=1,seq=16 \
            --steps 1 --backend onednn --output runs.jsonl
        [[ "$output" == *"take 23.2 GiB, and there are 1."*" GiB"* ]]
    done
}
