#!/usr/bin/env bats
# The shipped networks: complete, right, and what scripts/make-models writes.

bats_require_minimum_version 1.5.0

setup() {
    ROOT=$BATS_TEST_DIRNAME/../..
    BUILD="${BUILD:-$ROOT/build}"
    dltime="$BUILD/dltime"
    cd "$BATS_TEST_TMPDIR" || return
}

@test "scripts/make-models writes the same files again" {
    "$ROOT/scripts/make-models" again
    diff -r again "$ROOT/etc/models"
}

# tests/data/networks.tsv is what tests/accuracy/torch-compare --table wrote: parameters and
# multiply-accumulates of torchvision's networks and of plain torch.nn modules.
@test "parameters and multiply-accumulates are PyTorch's" {
    [ "$(wc -l <"$ROOT/tests/data/networks.tsv")" -ge 45 ]
    while IFS=$'\t' read -r name parameters macs; do
        case $name in
        bert_* | gpt2*) keys=,seq=128 ;;
        *) keys= ;;
        esac
        "$dltime" check "$name$keys" --json >net.json
        jq -e --argjson p "$parameters" --argjson m "$macs" '.parameters == $p and .macs == $m' \
            net.json >/dev/null || { echo "$name"; return 1; }
    done <"$ROOT/tests/data/networks.tsv"
}

# What is published where PyTorch has no such network: Hugging Face's BertForPreTraining and BertModel
# (large), GPT2LMHeadModel, OPTForCausalLM and T5ForConditionalGeneration; NVIDIA's Tacotron 2.
@test "parameters are the published ones" {
    "$dltime" models --json >models.json
    while read -r name parameters; do
        jq -e --arg n "$name" --argjson p "$parameters" \
            '.models[] | select(.name == $n) | .parameters == $p' models.json >/dev/null ||
            { echo "$name"; return 1; }
    done <<'TABLE'
bert_large 336226108
bert_large_encoder 335141888
gpt2_large 774030080
gpt2_xl 1557611200
opt_1.3b 1315758080
t5_base 222903552
tacotron2 28193153
TABLE
}

@test "shipped networks say of their training what dltime-model(5) says" {
    jq -rs 'map(.training // {} | if .epochs or .steps then "epochs"
            elif .samples and .batch then "\(.samples)" elif .batch then "batch" else "nothing" end)
        | group_by(.) | map("\(.[0]) \(length)") | .[]' "$ROOT"/etc/models/*.json | sort >said
    printf '%s\n' '117266 1' '1281167 43' '50000 1' '60000 1' 'batch 22' 'nothing 1' | sort | diff - said
    tr '\n' ' ' <"$ROOT/man/dltime-model.5" | grep -q \
        "1281167, which is ImageNet's, 43 of them, lenet5 60000, resnet8 50000, ssd300 117266\."
}

@test "at least 45 networks, each of which is priced" {
    "$dltime" models --json >models.json
    [ "$(jq '.models | length' models.json)" -ge 45 ]
    # One operator measured; every other is priced by bytes and FLOPs.
    {
        echo '{"format":"dltime-measurements","version":1,"device":{"name":"Synthetic 1 TFLOP/s","vendor":"synthetic","sms":10,"clock_mhz":1000,"memory_gib":16,"memory_bandwidth_gbs":1000,"peak_fp32_gflops":1000},"software":{"framework":"synthetic","backend":"formula","timing":"events_batched"},"source":"t = 10 us + FLOPs / 1e12"}'
        for n in 64 100 128 256 500 512 1000 1024 2048; do
            awk -v n=$n 'BEGIN { printf "{\"op\":\"dense\",\"pass\":\"forward\",\"batch\":64,\"in_features\":%d,\"out_features\":%d,\"median_ms\":%.6f,\"repeats\":5}\n", n, n, 0.01 + 128*n*n/1e9 }'
        done
    } >toy.jsonl
    "$dltime" train toy.jsonl --output toy.dlp 2>/dev/null
    for name in $(jq -r '.models[].name' models.json); do
        "$dltime" predict "$name,batch=2" --profile toy.dlp --pass step --json >out.json
        jq -e '.step_ms > 0' out.json >/dev/null || { echo "$name"; return 1; }
    done
}

@test "networks that published runs name are found by those names" {
    for name in bert_large gpt2_large gpt3_27 gpt3_xl opt_13 switchxl4 resnet50 vgg16; do
        "$dltime" check "$name" >/dev/null
    done
    [ "$("$dltime" check opt_13 --json | jq .parameters)" = 1315758080 ]
    for name in bert_base_squad bert_large_squad ssd transformerxlbase transformerxllarge gnmt ncf; do
        "$dltime" check "$name" >/dev/null
    done
}

@test "other spellings and names of a shipped network find it" {
    for name in resnet-50 ResNet50 vgg-16 bert-base-uncased gpt2-medium opt-1.3b t5-base; do
        "$dltime" check "$name" >/dev/null
    done
    [ "$("$dltime" check ResNet-50 --json | jq -r .name)" = resnet50 ]
    for name in $("$dltime" models --json | jq -r '.aliases | keys[]'); do
        "$dltime" check "$name" >/dev/null
    done
    run -1 "$dltime" check resnet-51
    [[ "$output" == *'did you mean "resnet'* ]]
}
