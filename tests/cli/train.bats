#!/usr/bin/env bats
# dltime train and dltime evaluate, as a shell sees them.

bats_require_minimum_version 1.5.0

setup() {
    BUILD="${BUILD:-$BATS_TEST_DIRNAME/../../build}"
    dltime="$BUILD/dltime"
    data="${DLTIME_DATA:-$BATS_TEST_DIRNAME/../../../shared/data}"
    cd "$BATS_TEST_TMPDIR" || return
}

# rows FILE COUNT FIRST: a device on paper: 10 us + the larger of MACs at 2.5e12 and bytes at 4e11 a
# second for fully connected layers, 10 us + bytes for softmax, each off by up to 2 %.
rows() {
    awk -v count="$2" -v first="$3" 'BEGIN {
        print "{\"format\":\"dltime-measurements\",\"version\":1,\"device\":{\"name\":\"Tesla V100-SXM2-16GB\"," \
            "\"vendor\":\"nvidia\",\"architecture\":\"volta\",\"sms\":80,\"cores_per_sm\":64,\"clock_mhz\":1530," \
            "\"memory_gib\":16,\"memory_bandwidth_gbs\":900,\"peak_fp32_gflops\":15700}," \
            "\"software\":{\"framework\":\"paper 1\",\"backend\":\"paper\",\"timing\":\"events_single\"},\"source\":\"paper\"}"
        for (i = first; i < first + count; i++) {
            m = 1 + (i * 37) % 128; k = 32 + (i * 1009) % 4000; n = 32 + (i * 2003) % 4000
            off = 1 + ((i * 7919) % 41 - 20) / 1000
            macs = m * k * n / 2.5e9; bytes = 4 * (m * k + k * n + m * n) / 4e8
            printf "{\"op\":\"dense\",\"pass\":\"forward\",\"dtype\":\"float32\",\"batch\":%d,\"in_features\":%d," \
                "\"out_features\":%d,\"median_ms\":%.6f}\n", m, k, n, (0.01 + (macs > bytes ? macs : bytes)) * off
            r = 1 + (i * 811) % 30000; c = 16 + (i * 331) % 2000
            printf "{\"op\":\"softmax\",\"pass\":\"forward\",\"dtype\":\"float32\",\"rows\":%d,\"columns\":%d," \
                "\"median_ms\":%.6f}\n", r, c, (0.01 + 8 * r * c / 4e8) * off
        }
    }' >"$1"
}

@test "train makes a profile that evaluate finds right on rows it never saw" {
    rows few.jsonl 80 0
    rows new.jsonl 100 5000
    run --separate-stderr "$dltime" train few.jsonl --output few.dlp
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    [[ "$stderr" == *"DEVICE"*"OPERATOR"*"ROWS"*"MAPE"*"RESTS ON"* ]]
    [[ "$stderr" == *"Tesla V100-SXM2-16GB"*"dense"*"80"*"measured"* ]]
    "$dltime" evaluate --profile few.dlp new.jsonl --json >out.json
    jq -e '.groups | length == 2 and (map(.op) | sort) == ["dense", "softmax"]
           and all(.[]; .kind == "operator" and .device == "Tesla V100-SXM2-16GB"
                   and .pass == "forward" and .dtype == "float32" and .n == 100 and .skipped == 0
                   and .mape < 0.06 and .median_ape <= .mape * 1.5 and .rmse_ms >= .mae_ms
                   and .coverage90 > 0.7 and .mean_width > 0 and .mean_width < 1)' out.json
    jq -e '.all.n == 200 and .all.mape < 0.06 and .all.r2 > 0.98' out.json
    run --separate-stderr "$dltime" evaluate --profile few.dlp new.jsonl few.jsonl
    [ "$status" -eq 0 ]
    [[ "$output" == *"RMSE ms"*"dense"*"measured"* ]]
    [[ "$stderr" == *"evaluate: few.jsonl is a file that few.dlp was learned from"* ]]
    [[ "$stderr" != *"new.jsonl"* ]]
}

@test "of an operator that was measured enough a device adapts nothing of the base's" {
    rows base.jsonl 60 0
    "$dltime" train base.jsonl --output base.dlp
    rows own.jsonl 1600 0
    sed -i '1s/Tesla V100-SXM2-16GB/Tesla T4/' own.jsonl
    "$dltime" train own.jsonl --base base.dlp --method cost --output own.dlp
    run "$dltime" devices --profile own.dlp --json
    jq -e '[.devices[] | select(.name == "Tesla T4") | .ops[].op] == ["dense", "softmax"]' <<< "$output"
}

@test "the same seed gives the same bytes, whatever the threads; another does not" {
    rows few.jsonl 60 0
    export SOURCE_DATE_EPOCH=1700000000
    "$dltime" train few.jsonl --output a.dlp --threads 1 2>/dev/null
    "$dltime" train few.jsonl --output b.dlp --threads 3 2>/dev/null
    "$dltime" train few.jsonl --output c.dlp --seed 2 2>/dev/null
    cmp a.dlp b.dlp
    run ! cmp -s a.dlp c.dlp
}

@test "every method trains; linear regression is the worst of them" {
    rows some.jsonl 200 0
    rows new.jsonl 100 5000
    for method in auto mlp linear cost; do
        "$dltime" train some.jsonl --output "$method.dlp" --method "$method" 2>/dev/null
        "$dltime" evaluate --profile "$method.dlp" new.jsonl --json | jq .all.mape >"$method"
    done
    jq -en --argjson auto "$(cat auto)" --argjson linear "$(cat linear)" '$auto <= $linear'
}

@test "wrong usage says what is wrong and leaves no file" {
    rows few.jsonl 20 0
    run --separate-stderr "$dltime" train --output x.dlp
    [ "$status" -eq 2 ] && [[ "$stderr" == *"at least one file"* ]]
    run --separate-stderr "$dltime" train few.jsonl
    [ "$status" -eq 2 ] && [[ "$stderr" == *"--output PROFILE"* ]]
    run --separate-stderr "$dltime" train few.jsonl --output x.dlp --method magic
    [ "$status" -eq 2 ] && [[ "$stderr" == *"--method is auto, mlp, linear, cost or conv-table"* ]]
    run --separate-stderr "$dltime" train few.jsonl --output x.dlp --seed -1
    [ "$status" -eq 2 ] && [[ "$stderr" == *"--seed takes a whole number"* ]]
    run --separate-stderr "$dltime" train missing.jsonl --output x.dlp
    [ "$status" -eq 1 ] && [[ "$stderr" == *"missing.jsonl: No such file"* ]]
    run --separate-stderr "$dltime" train few.jsonl --output no/such/folder/x.dlp
    [ "$status" -eq 1 ] && [[ "$stderr" == *"cannot be written"* ]]
    cp few.jsonl copy.jsonl
    run --separate-stderr "$dltime" train copy.jsonl --output ./copy.jsonl
    [ "$status" -eq 2 ] && [[ "$stderr" == *"would replace the measurements"* ]]
    cmp few.jsonl copy.jsonl
    run --separate-stderr "$dltime" train few.jsonl copy.jsonl --output x.dlp
    [ "$status" -eq 2 ] && [[ "$stderr" == *"are the same measurements"* ]]
    # Compressed it is another file, but the rows are the same: each counts once.
    gzip -k copy.jsonl
    run --separate-stderr "$dltime" train few.jsonl copy.jsonl.gz --output x.dlp
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"$(($(wc -l <few.jsonl) - 1)) rows repeat the configuration and the time"* ]]
    rm x.dlp
    run --separate-stderr "$dltime" evaluate few.jsonl
    [ "$status" -eq 2 ]
    run --separate-stderr "$dltime" evaluate --profile few.jsonl few.jsonl
    [ "$status" -eq 1 ] && [[ "$stderr" == *"is not a profile of dltime"* ]]
    run ! grep -q dlp <(ls -A)
}

@test "a row of a day among thirty is named and spoils nothing; fifty rows of one layer are one" {
    rows few.jsonl 30 0
    rows new.jsonl 100 5000
    sed -i '16s/"median_ms":[0-9.]*/"median_ms":86400000/' few.jsonl
    run --separate-stderr "$dltime" train few.jsonl --output few.dlp
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"few.jsonl: line 16: a dense of 8.64e+07 ms is more than 30 times"* ]]
    [ "$(grep -c "was not used" <<< "$stderr")" -eq 1 ]
    "$dltime" evaluate --profile few.dlp new.jsonl --json >out.json
    jq -e '.groups[] | select(.op == "dense") | .mape < 0.1 and .rmse_ms < 0.1' out.json
    # Twenty times too long may be true, and has little to say.
    rows few.jsonl 30 0
    slow=$(sed -n 16p few.jsonl | jq -c '.median_ms *= 20')
    sed -i "16s/.*/$slow/" few.jsonl
    "$dltime" train few.jsonl --output few.dlp 2>/dev/null
    "$dltime" evaluate --profile few.dlp new.jsonl --json >out.json
    jq -e '.groups[] | select(.op == "dense") | .median_ape < 0.1' out.json
    # The same layer fifty times, each in another time.
    { head -1 new.jsonl; for i in {100..149}; do sed -n "2s/_ms\":[0-9.]*/_ms\":1.$i/p" new.jsonl; done; } >one.jsonl
    run --separate-stderr "$dltime" train one.jsonl --output one.dlp
    [[ "$stderr" == *"rows that measure a configuration again: 49;"*"nothing is learned from 1 row;"* ]]
}

@test "what is faster than its device can be is named and not used, alone as in company" {
    rows few.jsonl 30 0
    # 65536 x 4096 x 4096 is 0.14 s at 15.7 TFLOP/s; VGG-16 at batch 4096 some 24 s with direct sums.
    wide=$(sed -n 2p few.jsonl | jq -c '.batch = 65536 | .in_features = 4096 |
        .out_features = 4096 | .median_ms = 5')
    echo "$wide" >>few.jsonl
    printf '%s\n' '{"format":"dltime-runs","version":1}' \
        '{"model":"vgg16","device":"Tesla V100-SXM2-16GB","pass":"step","batch":4096,"step_ms":5}' >runs.jsonl
    run --separate-stderr "$dltime" train few.jsonl runs.jsonl --base none --method cost --output few.dlp
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"few.jsonl: line 62: a dense of 5 ms is less than a tenth of what it takes at the peak rates of Tesla V100-SXM2-16GB"* ]]
    [[ "$stderr" == *"runs.jsonl: line 2: 5 ms of vgg16 is less than a tenth of what"* ]]
    [[ "$stderr" != *"framework none: 1 run"* ]]
    { head -1 few.jsonl; echo "$wide"; } >none.jsonl
    run --separate-stderr -1 "$dltime" train none.jsonl --base none --output none.dlp
    [[ "$stderr" == *"none.jsonl: line 2"*"no measured operator that can be learned from"* ]]
}

# Steps of a thousand years: such a profile was written, and refused wherever it was read.
@test "runs in another unit than milliseconds leave no profile" {
    rows few.jsonl 30 0
    { echo '{"format":"dltime-runs","version":1}'
      printf '{"model":"%s","device":"Tesla V100-SXM2-16GB","pass":"step","batch":8,"step_ms":3e13}\n' \
        resnet18 vgg11 alexnet; } >runs.jsonl
    run --separate-stderr -1 "$dltime" train few.jsonl runs.jsonl --base none --method cost --output few.dlp
    [[ "${stderr_lines[-1]}" == "dltime train: the runs on Tesla V100-SXM2-16GB, framework "*" are milliseconds" ]]
    [ ! -e few.dlp ]
}

@test "rows that contradict each other are no evidence, and it is told" {
    rows base.jsonl 60 0
    "$dltime" train base.jsonl --base none --output base.dlp 2>/dev/null
    # Products alone, up to thirty times as long or as short as they are, without an order.
    rows few.jsonl 30 5000
    sed -i -e '1s/V100-SXM2-16GB/T4/' -e '/softmax/d' few.jsonl
    { head -1 few.jsonl; tail -n +2 few.jsonl | jq -sc 'to_entries[] |
        .value.median_ms *= ((.key * 7919 % 41 - 20) * 0.17 | exp) | .value'; } >odd.jsonl
    run --separate-stderr -0 "$dltime" train odd.jsonl --base none --output own.dlp
    [[ "$stderr" == *"dense on Tesla T4, float32 ieee: rows kept out are missed by "*" % on average, half of them by "*"no evidence"* ]]
    [[ "$stderr" == *"30 "*" %  cost model"* ]]
    run --separate-stderr -0 "$dltime" train odd.jsonl --base none --method cost --output own.dlp
    [[ "$stderr" != *"no evidence"* && "$stderr" == *"--method auto learns more"* ]]
    run --separate-stderr -0 "$dltime" train odd.jsonl --base base.dlp --output adapted.dlp
    [[ "$stderr" == *"dense on Tesla T4, float32 ieee: rows kept out are missed by "* ]]
    "$dltime" devices --profile adapted.dlp --json |
        jq -e '.devices[] | select(.name == "Tesla T4").ops[] | select(.op == "dense").basis == "general"'
    "$dltime" predict "$BATS_TEST_DIRNAME/../../etc/examples/mlp.json" --profile adapted.dlp \
        --device "Tesla T4" --json | jq -e '.basis == "general"'
    # As they are they adapt.
    run --separate-stderr -0 "$dltime" train few.jsonl --base base.dlp --output adapted.dlp
    [[ "$stderr" != *"kept out"* && "$stderr" == *"%  adapted"* ]]
    # Devices that contradict one another, each of which agrees with itself.
    { head -1 few.jsonl | sed 's/T4/M60/'; tail -n +2 few.jsonl | jq -c '.median_ms *= 900'; } >slow.jsonl
    run --separate-stderr -0 "$dltime" train base.jsonl few.jsonl slow.jsonl --method cost --output three.dlp
    [[ "$stderr" == *"dense on any device"*"little is known of devices that were not measured"* ]]
    [[ "$stderr" != *"no evidence"* ]]
}

@test "too little memory ends in a sentence, not in waiting" {
    ! "$dltime" --version | grep -q fsanitize=address || skip "the sanitizer needs all addresses"
    rows few.jsonl 30 0
    limited() { OPENBLAS_NUM_THREADS=2 timeout 20 bash -c 'ulimit "$of" "$1"; shift; exec "$@"' - "$@"; }
    export of=-v
    run -1 --separate-stderr limited 200000 "$dltime" train few.jsonl --base none --output few.dlp
    [[ "$stderr" == *"training needs 160 MiB more than the limits on this process's memory leave"* ]]
    [ ! -e few.dlp ]
    # BLAS's second thread still waits for its own when these end.
    run -0 limited 100000 "$dltime" --version
    run -0 limited 100000 "$dltime" check "$BATS_TEST_DIRNAME/../../etc/examples/mlp.json"
    SOURCE_DATE_EPOCH=1700000000 limited 500000 "$dltime" train few.jsonl --base none --output one.dlp
    SOURCE_DATE_EPOCH=1700000000 "$dltime" train few.jsonl --base none --output few.dlp
    cmp one.dlp few.dlp
    export of=-d # of data, of which memory that is mapped is a part
    run -1 --separate-stderr limited 100000 "$dltime" train few.jsonl --base none --output none.dlp
    [[ "$stderr" == *"limits on this process's memory leave"* && ! -e none.dlp ]]
    run -0 limited 100000 "$dltime" --version
}

@test "a damaged general profile that networks would begin from is told, and nothing is lost" {
    # A tree of its own, where it is the installed one.
    mkdir -p tree/build tree/predictor tree/etc/profiles
    touch tree/predictor/dltime.h
    cp "$dltime" tree/build
    cp "$BATS_TEST_DIRNAME"/../../etc/devices.conf tree/etc
    head -c 9000 "$BATS_TEST_DIRNAME"/../../etc/profiles/general.dlp >tree/etc/profiles/general.dlp
    awk -v n=120 -f "$BATS_TEST_DIRNAME/../rows.awk" >rows.jsonl
    run -0 --separate-stderr tree/build/dltime train rows.jsonl --output it.dlp
    [[ $stderr == *"general.dlp: is cut short;"*"networks of convolutions begin from nothing"* ]]
    [ -s it.dlp ]
    run -0 --separate-stderr tree/build/dltime train rows.jsonl --base none --output it.dlp
    [[ $stderr != *general.dlp* ]]
}

@test "networks of convolutions begin from those of the shipped general profile, and it is told" {
    awk -v n=120 -f "$BATS_TEST_DIRNAME/../rows.awk" |
        sed '1s/events_batched/host_synchronous/' >rows.jsonl # as the profile's TensorFlow rows
    run -0 --separate-stderr "$dltime" train rows.jsonl --output begun.dlp
    [[ $stderr == *"begin from those that "*"/general.dlp keeps"* ]]
    grep -q "general.dlp" begun.dlp # among the sources
    run -0 --separate-stderr "$dltime" train rows.jsonl --base none --output alone.dlp
    [[ $stderr != *"begin from"* ]]
    run ! grep -q "general.dlp" alone.dlp
}

@test "files without a measurement adapt no profile" {
    awk -v n=120 -f "$BATS_TEST_DIRNAME/../rows.awk" >rows.jsonl
    "$dltime" train rows.jsonl --base none --output base.dlp
    head -n 1 rows.jsonl >header.jsonl
    run -1 --separate-stderr "$dltime" train header.jsonl --base base.dlp --output it.dlp
    [[ $stderr == *"hold nothing that a profile could be adapted to"* ]]
    [ ! -e it.dlp ]
}

@test "an operator with too few rows to learn from is named" {
    awk -v n=40 -f "$BATS_TEST_DIRNAME/../rows.awk" >many.jsonl
    # The header, the last three rows of one operator, and all of the other.
    awk 'NR == 1 || !/"softmax"/ || ++softmax <= 3' many.jsonl >few.jsonl
    run --separate-stderr "$dltime" train few.jsonl --output few.dlp
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"softmax on Made up, float32 ieee: nothing is learned from 3 rows; the cost model answers for it"* ]]
    [[ "$stderr" != *"conv2d on"*"nothing is learned"* ]]
}

@test "a file of a killed job is used up to its half line; a malformed row is named" {
    rows few.jsonl 30 0
    printf '{"op":"dense","pass":"forw' >>few.jsonl
    run --separate-stderr "$dltime" train few.jsonl --output few.dlp
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"few.jsonl: the last line is cut short and was skipped"* ]]
    rows bad.jsonl 30 0
    sed -i '4s/"batch":[0-9]*/"batch":"many"/' bad.jsonl
    run --separate-stderr "$dltime" train bad.jsonl --output bad.dlp
    [ "$status" -eq 1 ]
    [[ "$stderr" == *"bad.jsonl: line 4: batch"* ]]
    [ ! -e bad.dlp ]
}

@test "a profile that was cut or altered is refused by name" {
    rows few.jsonl 40 0
    "$dltime" train few.jsonl --output few.dlp 2>/dev/null
    head -c 3000 few.dlp >cut.dlp
    run --separate-stderr "$dltime" evaluate --profile cut.dlp few.jsonl
    [ "$status" -eq 1 ] && [[ "$stderr" == *"cut.dlp: is cut short"* ]]
    cp few.dlp altered.dlp
    printf 'x' | dd of=altered.dlp bs=1 seek=$(($(stat -c %s few.dlp) - 9)) conv=notrunc status=none
    run --separate-stderr "$dltime" evaluate --profile altered.dlp few.jsonl
    [ "$status" -eq 1 ] && [[ "$stderr" == *"was altered"* ]]
}

@test "timing conventions are not mixed: rows of another one are skipped" {
    rows few.jsonl 40 0
    sed 's/events_single/host_synchronous/' few.jsonl >host.jsonl
    "$dltime" train few.jsonl --output few.dlp 2>/dev/null
    "$dltime" evaluate --profile few.dlp host.jsonl --json >out.json
    jq -e '.all.n == 0 and .all.skipped == 80 and .all.mape == null' out.json
}

@test "a K80's fully connected layers: below the paper's error from a fifth of the rows" {
    file="$data/justus2018/tesla-k80.dense.jsonl.gz"
    [ -e "$file" ] || skip "no measurements in $data; set DLTIME_DATA"
    gzip -dc "$file" | awk 'NR == 1 || NR % 5 == 0' >train.jsonl
    gzip -dc "$file" | awk 'NR == 1 || NR % 5 == 2' >test.jsonl
    "$dltime" train train.jsonl --output k80.dlp 2>/dev/null
    "$dltime" evaluate --profile k80.dlp test.jsonl --json >out.json
    # Justus et al. 2018: 0.145 ms from four times the rows.
    jq -e '.all.n > 3900 and .all.rmse_ms < 0.145 and .all.mape < 0.05
           and .all.coverage90 > 0.85 and .all.coverage90 < 0.95' out.json
}

@test "a folder for --each that cannot be written is found before anything is learned" {
    rows few.jsonl 30 0
    mkfifo fifo
    for folder in missing fifo few.jsonl; do
        run -1 --separate-stderr "$dltime" train few.jsonl --method cost --output one.dlp --each "$folder"
        [[ "$stderr" == *"$folder/each.dlp: cannot be written: "* ]]
        [ ! -e one.dlp ]
    done
}

@test "--each keeps two releases of a framework apart" {
    rows first.jsonl 40 0
    rows second.jsonl 60 5000
    sed -i '1s/paper 1/paper 2/' second.jsonl
    mkdir each
    "$dltime" train first.jsonl second.jsonl --method cost --output both.dlp --each each 2>/dev/null
    [ "$(ls each)" = "tesla-v100-sxm2-16gb.paper-2.dlp
tesla-v100-sxm2-16gb.paper.dlp" ]
    run -0 "$dltime" devices --profile each/tesla-v100-sxm2-16gb.paper.dlp
    [[ $output == *"paper 1"* ]]
    run -0 "$dltime" devices --profile each/tesla-v100-sxm2-16gb.paper-2.dlp
    [[ $output == *"paper 2"* ]]
}
