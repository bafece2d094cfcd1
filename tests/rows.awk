#!/usr/bin/awk -f
# SPDX-License-Identifier: Apache-2.0
#
# Made-up measurements of a device of 10 TFLOP/s and 500 GB/s, for tests of what is learned from
# rows, where the times themselves do not matter: n convolutions (each in three passes) and n / 4
# softmaxes. Usage: awk -v n=400 [-v device=NAME] [-v sms=80] -f rows.awk
BEGIN {
    srand(1)
    if (device == "")
        device = "Made up"
    if (sms == "")
        sms = 80
    split("forward backward_data backward_weight", pass)
    print "{\"format\":\"dltime-measurements\",\"version\":1,\"device\":{\"name\":\"" device \
        "\",\"architecture\":\"volta\",\"compute_capability\":\"7.0\",\"sms\":" sms ",\"cores_per_sm\":64," \
        "\"clock_mhz\":1500,\"memory_gib\":16,\"memory_bandwidth_gbs\":900,\"l2_mib\":6," \
        "\"peak_fp32_gflops\":15000},\"software\":{\"timing\":\"events_batched\"}}"
    for (i = 0; i < n; i++) {
        batch = power(6); channels = power(9); filters = power(9); size = power(7) + 3
        kernel = 1 + 2 * int(rand() * 2)
        ms = batch * channels * filters * size ^ 2 * kernel ^ 2 / 5e9
        for (p = 1; p <= 3; p++)
            printf "{\"op\":\"conv2d\",\"pass\":\"%s\",\"batch\":%d,\"in_channels\":%d," \
                "\"in_size\":%d,\"out_channels\":%d,\"kernel\":%d,\"padding\":\"same\"," \
                "\"median_ms\":%.6g}\n", pass[p], batch, channels, size, filters, kernel, noisy(ms)
    }
    for (i = 0; i < n / 4; i++) {
        rows = power(12); columns = power(12)
        printf "{\"op\":\"softmax\",\"pass\":\"forward\",\"rows\":%d,\"columns\":%d," \
            "\"median_ms\":%.6g}\n", rows, columns, noisy(rows * columns * 8 / 5e8)
    }
}

function power(most) { return int(2 ^ (rand() * most)) }

function noisy(ms) { return (ms + 0.02) * (1 + 0.05 * rand()) }
