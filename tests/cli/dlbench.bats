#!/usr/bin/env bats
# dlbench, as a shell sees it, with the oneDNN backend.

bats_require_minimum_version 1.5.0

setup() {
    BUILD="${BUILD:-$BATS_TEST_DIRNAME/../../build}"
    BUILD=$(readlink -f "$BUILD")
    dlbench="$BUILD/dlbench"
    cd "$BATS_TEST_TMPDIR" || return
    unset SLURM_CPUS_PER_TASK
}

# Every line is whole, the header stands first and once, rows hold what the contract says.
check_measurements() {
    [ "$(tail -c 1 "$1" | od -An -c | tr -d ' ')" = '\n' ]
    jq -es '.[0].format == "dltime-measurements" and .[0].version == 1
            and (.[0].device | .name != "" and .isa != "" and .cores >= 1 and .clock_mhz > 0
                 and .memory_bandwidth_gbs > 0)
            and .[0].software.timing == "host_synchronous"
            and (.[0].software.backend | startswith("onednn "))
            and (.[1:] | length > 0 and all(
                 .op != null and .dtype == "float32" and .math == "ieee" and .threads >= 1
                 and .repeats == 5 and .median_ms > 0 and .min_ms <= .median_ms
                 and .median_ms <= .max_ms and (.cache == "cold" or .cache == "warm")))' "$1"
}

# What was measured, without the times: the same line twice is a sample measured twice.
configurations() {
    jq -c 'select(.op) | del(.median_ms, .min_ms, .max_ms, .std_ms, .repeats, .disturbed,
                             .clock_mhz, .cache)' "$1"
}

@test "run measures all passes within its time budget and prints a table" {
    start=$(date +%s)
    run --separate-stderr "$dlbench" run --backend onednn --output out.jsonl --time-budget 6
    [ "$status" -eq 0 ]
    [ $(($(date +%s) - start)) -le 12 ]
    check_measurements out.jsonl
    jq -es '[.[1:][].pass] | contains(["forward", "backward_data", "backward_weight", "backward"])' \
        out.jsonl
    grep -Eq '^# OPERATOR +PASS +N +FASTEST +MEDIAN +SLOWEST +SPREAD' <<<"$output"
    grep -Eq '^  conv2d +forward +[0-9]+ .* (us|ms) ' <<<"$output"
    [[ "$stderr" == *"writing out.jsonl"* ]]
    # The table fits a terminal of 100 columns.
    [ "$(awk '{ if (length > longest) longest = length } END { print longest }' <<<"$output")" -le 100 ]
}

@test "a time budget of a second gives a file, however busy the machine is" {
    "$dlbench" run --backend onednn --ops dense --output out.jsonl --time-budget 1s --quiet
    check_measurements out.jsonl
    [ "$(wc -l <out.jsonl)" -ge 2 ]
}

@test "what is told to a closed stream is not written into the file" {
    "$dlbench" run --backend onednn --ops softmax --samples 1 --output a.jsonl 2>&-
    check_measurements a.jsonl
    run -1 bash -c "'$dlbench' run --backend onednn --ops softmax --samples 1 --output b.jsonl >&-"
    check_measurements b.jsonl
}

@test "the same seed draws the same samples, another seed others" {
    options=(run --backend onednn --ops dense,softmax --samples 8 --quiet)
    "$dlbench" "${options[@]}" --output a.jsonl --seed 5
    "$dlbench" "${options[@]}" --output b.jsonl --seed 5
    "$dlbench" "${options[@]}" --output c.jsonl --seed 6
    configurations a.jsonl >a
    cmp a <(configurations b.jsonl)
    run ! cmp -s a <(configurations c.jsonl)
}

@test "killed in the middle and resumed, the file is whole and nothing is measured twice" {
    options=(run --backend onednn --ops dense,elementwise --output out.jsonl --quiet)
    for _ in 1 2 3; do
        "$dlbench" "${options[@]}" --samples 100 --resume 3>&- &
        sleep 1.5
        kill -9 $! 2>/dev/null || true
        wait $! || true
    done
    # The trace of a kill inside a line.
    printf '{"op":"dense","pass":"forw' >>out.jsonl
    before=$(grep -c '"op".*}$' out.jsonl)
    [ "$before" -gt 0 ]
    "$dlbench" "${options[@]}" --samples 40 --resume
    check_measurements out.jsonl
    [ "$(jq -s 'map(select(.format)) | length' out.jsonl)" -eq 1 ]
    configurations out.jsonl | sort >all
    uniq all | cmp all -
    "$dlbench" run --backend onednn --ops dense,elementwise --output whole.jsonl --quiet --samples 40
    # All of an uninterrupted run's samples are there.
    [ -z "$(comm -13 all <(configurations whole.jsonl | sort))" ]
}

@test "SIGTERM ends a run with what was measured" {
    "$dlbench" run --backend onednn --output out.jsonl --time-budget 60 2>err 3>&- >out &
    sleep 3
    kill -TERM $!
    status=0
    wait $! || status=$?
    [ "$status" -eq 1 ]
    grep -q 'interrupted; --resume continues out.jsonl' err
    grep -q '^# OPERATOR' out
    check_measurements out.jsonl
}

@test "threads are the CPUs that the process may use" {
    options=(run --backend onednn --ops softmax --samples 1 --quiet)
    cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
    taskset -c "$cpu" "$dlbench" "${options[@]}" --output one.jsonl
    jq -es '.[1:] | all(.threads == 1)' one.jsonl
    SLURM_CPUS_PER_TASK=1 "$dlbench" "${options[@]}" --output slurm.jsonl
    jq -es '.[1:] | all(.threads == 1)' slurm.jsonl
    run ! taskset -c "$cpu" "$dlbench" "${options[@]}" --threads 2 --output two.jsonl
    [[ "$output" == *"2 threads asked for, but this process may use 1 CPUs only"* ]]
}

@test "a finished file is not overwritten, and another device's is not continued" {
    options=(run --backend onednn --ops softmax --samples 1 --quiet --output out.jsonl)
    "$dlbench" "${options[@]}"
    cp out.jsonl kept.jsonl
    run -1 "$dlbench" "${options[@]}"
    [[ "$output" == "dlbench run: out.jsonl exists; --resume continues it" ]]
    cmp out.jsonl kept.jsonl
    jq -c 'if .format then .device.name = "Another CPU" else . end' kept.jsonl >out.jsonl
    run -1 "$dlbench" "${options[@]}" --resume
    [[ "$output" == *"out.jsonl was measured on Another CPU, and this is"* ]]
}

@test "wrong usage says what and how to mend it" {
    run -2 "$dlbench"
    run -2 "$dlbench" runn
    [[ "$output" == *'no command "runn"; did you mean run?'* ]]
    run -2 "$dlbench" run --output x
    [[ "$output" == *"--backend is missing"* ]]
    run -2 "$dlbench" run --backend onednn
    [[ "$output" == *"--output is missing"* ]]
    run -2 "$dlbench" run --backend onednn --output x --ops conv2,dense
    [[ "$output" == *'unknown operator "conv2"; did you mean conv2d?'* ]]
    run -2 "$dlbench" run --backend onednn --output x --time-budget soon
    [[ "$output" == *'--time-budget "soon": a duration is wanted'* ]]
    run -2 "$dlbench" run --backend onednn --output x --samples 0
    run -2 "$dlbench" run --backend onednn --output x --nonsense
    run -2 "$dlbench" network --backend onednn --output x
    [[ "$output" == *"a SPEC is missing"* ]]
    [ ! -e x ]
}

@test "what cannot work fails with one line" {
    run -1 "$dlbench" run --backend onednnn --output x
    [[ "$output" == 'dlbench run: no backend "onednnn"; did you mean onednn?' ]]
    run -1 "$dlbench" run --backend onednn --output missing/x
    [[ "$output" == "dlbench run: missing/x: No such file or directory" ]]
    run -1 "$dlbench" run --backend onednn --output .
    [[ "$output" == *"dlbench run: .: Is a directory"* ]]
    run -1 "$dlbench" run --backend onednn --device 3 --output x
    [[ "$output" == *"there is no device 3"* ]]
    echo '{"name": "m", "input": [4], "layers": [{"op": "dense", "out_features": 2}]}' >m.json
    run -1 "$dlbench" network m.json --backend onednn --output x
    [[ "$output" == *"m.json: a batch has to be said: m.json,batch=64"* ]]
    run -1 "$dlbench" network m.json,batch=4 --epochs 2 --backend onednn --output x
    [[ "$output" == *"m.json,batch=4: an epoch has to have samples: add samples=N to the SPEC"* ]]
    run -1 "$dlbench" network lenet5,batch=4 lenet6,batch=4 --backend onednn --output x
    [[ "$output" == *"lenet5"* ]]
    [ ! -e x ]
    run -1 "$dlbench" network lenet5,batch=4,precision=bfloat16 --backend onednn --output y
    [[ "$output" == *"precision bfloat16 cannot be run; float32 can"* ]]
}

@test "network trains and adds a row for each SPEC" {
    run --separate-stderr "$dlbench" network lenet5,batch=16,samples=100,epochs=3 \
        resnet8,batch=4,steps=12 --backend onednn --output runs.jsonl
    [ "$status" -eq 0 ]
    # 3 epochs of ceil(100 / 16) = 7 steps.
    grep -Eq '^  lenet5 +16 +21 ' <<<"$output"
    grep -Eq '^  resnet8 +4 +12 ' <<<"$output"
    jq -es 'length == 3 and .[0].format == "dltime-runs"
            and .[1].model == "lenet5" and .[1].batch == 16
            and (.[1:] | all(.pass == "step" and .framework == "none" and .precision == "float32"
                 and .threads >= 1 and .devices == 1 and .step_ms > 0 and .forward_ms > 0
                 and .backward_ms > .forward_ms / 4 and .memory_mib > 1
                 and .forward_ms + .backward_ms < 3 * .step_ms and .elapsed_s > 0))' runs.jsonl
    "$dlbench" network lenet5,batch=8 --steps 5 --backend onednn --output runs.jsonl --quiet
    [ "$(wc -l <runs.jsonl)" -eq 4 ]
}

@test "a network that is trained learns its batch" {
    run --separate-stderr "$dlbench" network lenet5,batch=16,optimizer=adam \
        lenet5,batch=16,optimizer=sgd --steps 300 --backend onednn --output runs.jsonl
    [ "$status" -eq 0 ]
    # ln(10) = 2.30 is what guessing costs; the loss is the column before the elapsed time.
    awk '/^  lenet5/ { if ($(NF - 2) >= 2.3) bad = 1; rows++ } END { exit bad || rows != 2 }' \
        <<<"$output"
}

@test "every operator agrees with the double-precision reference" {
    run --separate-stderr "$dlbench" verify --backend onednn
    [ "$status" -eq 0 ]
    [[ "$output" != *WRONG* ]]
    grep -Eq '^# [1-9][0-9][0-9] results compared, 0 wrong$' <<<"$output"
}

@test "info shows the CPU and the backends" {
    run --separate-stderr "$dlbench" info
    [ "$status" -eq 0 ]
    grep -Eq '^  usable CPUs +[0-9]+ \([0-9,-]+\)$' <<<"$output"
    grep -Eq '^Backend onednn$' <<<"$output"
    grep -Eq 'version +onednn [0-9]+\.' <<<"$output"
    # A row for each device, as in nvidia-smi, in a frame that fits.
    grep -Eq '^\| onednn +0 \| .* GiB \|' <<<"$output"
    [ "$(grep '^[|+]' <<<"$output" | awk '{ print length }' | sort -u | wc -l)" -eq 1 ]
    "$dlbench" info --json | jq -e '(.devices[] | select(.backend == "onednn") | .name != "")
        and .cpu.cores >= 1 and (.cpu.usable | length > 0)'
}

@test "a quick run measures rates, launches and two networks, and is resumed" {
    options=(run --backend onednn --quick --time-budget 4 --output quick.jsonl --json)
    "$dlbench" "${options[@]}" >out.json
    check_measurements quick.jsonl
    # Nothing of the list is over within 0.1 us: a pass that nothing was done for would be.
    jq -es 'map(select(.median_ms)) | all(.median_ms > 1e-4)' quick.jsonl
    # A product of 20 ms at the peak rate comes first.
    jq -es '.[1] | .op == "dense" and .in_features == .out_features and .in_features >= 256' quick.jsonl
    jq -e '.interrupted == false and .measurements > 0 and (.operators[0].n >= 1)
           and (.operators | map(.of_peak // 0) | max) > 0.01' out.json
    jq -es '.[0].format == "dltime-runs" and length == 3 and (.[1:] | all(.step_ms > 0))' \
        quick.runs.jsonl
    "$dlbench" "${options[@]}" --resume >out.json
    [ "$(wc -l <quick.runs.jsonl)" -eq 3 ]
    configurations quick.jsonl | sort >all
    uniq all | cmp all -
}

@test "a profile of a first pass chooses what a second one measures" {
    "$dlbench" run --backend onednn --ops softmax --samples 12 --quiet --output first.jsonl
    "$BUILD/dltime" train first.jsonl --output first.dlp --method cost 2>/dev/null
    options=(run --backend onednn --ops softmax --samples 4 --quiet --profile first.dlp)
    "$dlbench" "${options[@]}" --output a.jsonl
    "$dlbench" "${options[@]}" --output b.jsonl
    configurations a.jsonl | cmp - <(configurations b.jsonl)
    run ! cmp -s <(configurations a.jsonl) <(configurations first.jsonl | head -n 12)
    run -1 "$dlbench" "${options[@]}" --profile missing.dlp --output c.jsonl
    [[ "$output" == *"missing.dlp"* ]]
    [ ! -e c.jsonl ] # a header alone would be in the way of the next try
    run -1 "$dlbench" run --backend onednn --profile first.jsonl --output d.jsonl
    [[ "$output" == *"first.jsonl"* ]]
}

@test "io reads samples past the page cache and prints a loader's rate" {
    mkdir -p data/below
    for i in 1 2 3 4 5 6 7 8; do head -c 100000 /dev/urandom >"data/below/$i.jpg"; done
    : >data/empty
    ln -s below/1.jpg data/link.jpg
    run --separate-stderr "$dlbench" io data --workers 2 --time-budget 5
    [ "$status" -eq 0 ]
    [[ "$output" == *"data: 9 files, 879 KiB; 2 workers"* || "$output" == *"data: 9 files, "* ]]
    grep -Eq '^  sequential +9 .* [0-9.]+ .* 0  (direct|dropped|cached)$' <<<"$output"
    grep -Eq '^# loader_samples_per_s=[0-9]+ for a loader of 2' <<<"$output"
    # Nine samples are no steady rate, and that is said.
    [[ "$stderr" == *"too little for a steady rate"* ]]
    head -c 1000000 /dev/urandom >one
    # 1,000,000 bytes are 244 samples of 4096 bytes; the rest at the end is none.
    "$dlbench" io one --sample-size 4k --pattern random --json 2>/dev/null |
        jq -e '.files == 1 and .bytes == 1000000 and (.patterns | length == 1)
               and .patterns[0].pattern == "random" and .patterns[0].samples == 244
               and .patterns[0].sample_bytes == 4096 and .patterns[0].errors == 0
               and .loader_samples_per_s > 0'
    # A limit of bytes ends it, give or take a sample a worker.
    "$dlbench" io one --sample-size 4k --bytes 40k --workers 1 --pattern sequential --json \
        2>/dev/null | jq -e '.patterns[0].samples == 10 and .patterns[0].whole == false'
}

@test "io ends in time, and when it is told to, in the middle of a huge file" {
    mkdir huge && truncate -s 1T huge/one
    run -1 timeout 60 "$dlbench" io huge --time-budget 1s
    [[ "$output" == *"no sample was read to its end within "*"--sample-size"* ]]
    "$dlbench" io huge --time-budget 1h >table 2>said 3>&- &
    for ((i = 0; i < 200; i++)); do # the table's head says that it reads
        [ ! -s table ] || break
        sleep 0.1
    done
    kill -INT $!
    status=0
    wait $! || status=$?
    [ "$status" -eq 1 ]
    [ "$(cat said)" = "dlbench io: interrupted" ]
}

@test "io says what it cannot read" {
    run -1 "$dlbench" io missing
    [[ "$output" == "dlbench io: missing: No such file or directory" ]]
    mkdir -p hollow
    run -1 "$dlbench" io hollow
    [[ "$output" == "dlbench io: hollow: there is no file with something to read" ]]
    run -1 "$dlbench" io /dev/zero
    [[ "$output" == *"neither a folder nor a regular file"* ]]
    run -2 "$dlbench" io
    run -2 "$dlbench" io ""
    run -2 "$dlbench" io hollow --sample-size much
    [[ "$output" == *'--sample-size "much": a size is wanted'* ]]
    run -2 "$dlbench" io hollow --pattern sideways
    if [ -w /dev/shm ] && [ "$(stat -f -c %T /dev/shm)" = tmpfs ]; then
        memory=$(mktemp /dev/shm/dltime-XXXXXX)
        echo data >"$memory"
        run --separate-stderr "$dlbench" io "$memory"
        rm -f "$memory"
        [[ "$stderr" == *"the page cache could not be avoided"* ]]
    fi
}
