#!/usr/bin/env bats
# ONNX files and Hugging Face configurations on the command line, and scripts/torch-export.
# shellcheck disable=SC2154 # bats sets stderr

bats_require_minimum_version 1.5.0

setup() {
    root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    BUILD="${BUILD:-$root/build}"
    dltime="$BUILD/dltime"
    cd "$BATS_TEST_TMPDIR" || return
}

@test "ResNet-50 as ONNX has the parameters, MACs and shapes of the shipped model" {
    "$dltime" check "$root/tests/data/resnet50.onnx,batch=4" --json >onnx.json
    "$dltime" check resnet50,batch=4 --json >shipped.json
    jq -es '.[0].parameters == 25557032 and .[0].macs == 4089184256 and .[0].problems == []
            and (.[0] | {parameters, trainable, macs}) == (.[1] | {parameters, trainable, macs})' \
        onnx.json shipped.json
    for file in onnx shipped; do
        jq -c '[.layers[] | select(.op | test("conv2d|batch_norm|relu|pool|dense|add"))
                | [.op, .output]] | sort' $file.json >$file.shapes
    done
    cmp onnx.shapes shipped.shapes
}

@test "a damaged ONNX file is one sentence on stderr, with the file and the place" {
    head -c 30000 "$root/tests/data/resnet50.onnx" >cut.onnx
    run --separate-stderr "$dltime" check cut.onnx
    [ "$status" -eq 1 ]
    [ -z "$output" ]
    [[ "$stderr" == "dltime check: cut.onnx: byte "*": a field of "*" bytes where its message has "* ]]
    [ "$(wc -l <<<"$stderr")" -eq 1 ]
}

@test "a configuration of transformers is a model, its sequence a key" {
    echo '{"model_type": "bert", "_name_or_path": "bert-base-uncased"}' >config.json
    "$dltime" check config.json,seq=128,batch=2 --json >out.json
    jq -e '.name == "bert-base-uncased" and .parameters == 109482240
           and .layers[0].output == [2, 128, 768] and .problems == []' out.json
}

@test "torch-export explains itself and names what is wrong" {
    run --separate-stderr "$root/scripts/torch-export" --help
    [ "$status" -eq 0 ]
    [[ "$output" == *"usage: torch-export MODULE:CALLABLE"* ]]
    run --separate-stderr "$root/scripts/torch-export" --nonsense
    [ "$status" -eq 2 ]
    [[ "$stderr" == "torch-export: unknown argument: --nonsense"* ]]
    mkfifo pipe
    run -1 --separate-stderr "$root/scripts/torch-export" ./net.py:Net --output pipe
    [ "$stderr" = "torch-export: pipe: is not a regular file" ]
    [ -p pipe ] # as /dev/null, which root could replace
}

# The Python that has torch, if there is one.
torch_python() {
    local python
    for python in python3 /usr/bin/python3; do
        if "$python" -c 'import torch, torchvision' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
    skip "no Python here has torch and torchvision"
}

@test "what torch-export writes is what dltime reads, open sizes included" {
    python=$(torch_python) || skip "no Python here has torch and torchvision"
    [ -n "$python" ] || skip "no Python here has torch and torchvision"
    echo mine >mine
    # Of a process that is gone, of one that runs, and of other hosts: a day old, and fresh.
    host=$(uname -n)
    ln -s mine "resnet18.onnx.$host-99999999.part"
    touch "resnet18.onnx.$host-$$.part" resnet18.onnx.other-1.part
    touch -d '25 hours ago' resnet18.onnx.other-2.part
    "$python" "$root/scripts/torch-export" torchvision.models:resnet18
    [ "$(cat mine)" = mine ]
    find . -name '*.part' -printf '%f\n' | sort >left
    printf 'resnet18.onnx.%s.part\n' "$host-$$" other-1 | sort | diff - left
    [ "$(stat -c %s resnet18.onnx)" -lt 100000 ]
    [ "$("$dltime" check resnet18.onnx,batch=2 --json | jq .parameters)" -eq 11689512 ]
    printf 'print("no ONNX")\nfrom onnx_modules import Gpt\n' >noisy.py
    PYTHONPATH=$root/tests/accuracy "$python" "$root/scripts/torch-export" ./noisy.py:Gpt \
        --input batch=2,seq=32:int64:1000 --output - >gpt.onnx
    for seq in 32 48; do
        "$dltime" check "gpt.onnx,batch=3,seq=$seq" --json >out.json
        jq -e --argjson n $seq '.layers[-1].output == [3, $n, 1000]' out.json
    done
    run --separate-stderr "$python" "$root/scripts/torch-export" torchvision.models:resnet19
    [ "$status" -eq 1 ]
    [[ "$stderr" == "torch-export: torchvision.models:resnet19: "* ]]
}
