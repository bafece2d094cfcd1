#!/usr/bin/env bats
# Operators and shipped networks against PyTorch, where /usr/bin/python3 has it. All networks and
# more attribute sets: tests/accuracy/torch-compare, torch-graphs and torch-shapes.

bats_require_minimum_version 1.5.0

setup() {
    ROOT=$BATS_TEST_DIRNAME/../..
    BUILD=$(realpath "${BUILD:-$ROOT/build}")
    export BUILD
}

against() {
    run "$ROOT/tests/accuracy/$1" "${@:2}"
    if [ "$status" -eq 77 ]; then
        skip "$output"
    fi
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "shapes and parameters of operators are those of PyTorch" {
    against torch-shapes --count 25
    [[ "$output" == *" 0 wrong" ]]
}

@test "each operator has PyTorch's parameters, shape, products and saved bytes" {
    against torch-operators
    [[ "$output" == *" 0 wrong" ]]
}

@test "networks have PyTorch's parameters, products, outputs and saved bytes" {
    against torch-compare lenet5 mlp resnet8 dcgan squeezenet1_1 googlenet mobilenet_v3_small \
        shufflenet_v2_x0_5 regnet_y_400mf swin_t lstm_lm
    [[ "$output" == *"11 networks, 0 of them differ"* ]]
}

@test "every layer has the shape that PyTorch finds when it runs the network" {
    against torch-graphs lenet5 resnet8 lstm_lm gpt2 bert_base swin_t tacotron2 gnmt
    [[ "$output" == *" 0 networks differ"* ]]
}
