#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# tests/closed-loop with three short trainings by PyTorch: that it works, not how well it predicts.

load helper

@test "what is said of three trainings by PyTorch stands beside what they took" {
    local network python=python3
    ! /usr/bin/python3 -c 'import torch, torchvision' 2>/dev/null || python=/usr/bin/python3
    $python -c 'import torch, torchvision' 2>/dev/null || skip "$python has no torch"
    run -0 --separate-stderr "$source_dir/tests/closed-loop/run" --quick --python "$python" --work "$BATS_TEST_TMPDIR/work"
    [[ ${lines[0]} == 'Learned from: lenet5, mlp. Scored: lstm_two, mlp_wide, resnet8.' ]]
    for network in lstm_two mlp_wide resnet8; do
        grep -E "^\| $network \| cpu1 \| [0-9]+ \| [0-9.]+ ms \| [0-9.]+ ms \| [+-][0-9.]+ % \| [0-9.]+ s \| [0-9.]+ s \| [0-9.]+ \|$" <<<"$output"
    done
    [[ ${lines[-1]} == '3 jobs of 3 networks: '* ]]
    # Each was submitted with --dl-model, and done.
    [[ $(jq -s 'map(select(.phase == "score" and .steps_s > 0)) | length' "$BATS_TEST_TMPDIR/work/results.jsonl") == 3 ]]
}
