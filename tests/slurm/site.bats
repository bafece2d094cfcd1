#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# scripts/site from nothing to a submission with its table, with budgets of seconds: that it works,
# not how well it predicts. Another user gathers, the cluster's owner installs.

# shellcheck disable=SC2030,SC2031 # each test has its own variables
# shellcheck disable=SC2154 # source_dir is the helper's; run sets output, stderr and status

load helper

setup_file() {
    slurm_start || return 1
    folder=$(mktemp -d /tmp/dltime-site-XXXXXX)
    chmod 755 "$folder"
    mkdir -m 777 "$folder/work"
    # What another user may read, as after an installation: a build tree is known by dltime.h.
    mkdir -p "$folder/tree/predictor" "$folder/tree/build"
    cp "$source_dir/predictor/dltime.h" "$folder/tree/predictor"
    cp -r "$source_dir/etc" "$source_dir/scripts" "$folder/tree"
    cp "$BUILD"/dl* "$BUILD"/*.so "$folder/tree/build"
    chmod -R go=rX "$folder/tree"
    python=python3
    ! /usr/bin/python3 -c 'import torch' 2>/dev/null || python=/usr/bin/python3
    export folder python
    rm -f "$(slurm_dltime_conf)"
}

teardown_file() {
    rm -rf "$folder"
    slurm_stop
}

setup() {
    cd "$folder/work" || return
    site=$folder/tree/scripts/site
}

# An ordinary user, whoever runs the tests.
as_user() {
    if (($(id -u) == 0)); then
        HOME=/ XDG_RUNTIME_DIR='' BUILD=$folder/tree/build \
            setpriv --reuid=nobody --regid=nogroup --clear-groups -- "$@"
    else
        BUILD=$folder/tree/build "$@"
    fi
}

# Waits until a line of a file matches.
wait_for_line() { # PATTERN FILE
    local deadline=$((SECONDS + 40))
    until grep -qs "$1" "$2"; do
        ((SECONDS < deadline)) || { echo "no $1 in $2: $(cat "$2")" && return 1; }
        sleep 0.2
    done
}

# Measures on while a machine that is busy with other things got little done: gather_more COMMAND...
gather_more() {
    for _ in 1 2 3 4; do
        (($(wc -l <bench/cpu1.cpu1-1.jsonl) < 50)) || return 0
        echo running >bench/cpu1.cpu1-1.state
        "$@" gather --folder bench --full 12s --partitions cpu1 >again 2>&1 || cat again
    done
}

# A network of one layer that was measured, so that its price rests on that: the convolution that took
# longest. Sets spec.
measured_network() {
    local row=network.row
    jq -cs '[.[] | select(.op == "conv2d" and .pass == "forward")] | max_by(.median_ms)' \
        bench/cpu1.cpu1-1.jsonl >"$row"
    jq '{name: "layer", input: ([.in_channels] + .in_size), layers: [{op: "conv2d", out_channels,
         kernel_size: .kernel, stride, dilation, padding, groups, bias}]}' "$row" >layer.json
    spec=layer.json,batch=$(jq .batch "$row"),epochs=3,samples=60000,framework=none
}

# The table's row of cpu1 in $stderr rests on what the profile is said to rest on: "measured", unless
# the machine was so busy that the profile errs by more than half on rows that it has not seen.
check_table() { # ACCURACY-FILE
    echo "$stderr"
    grep -Eq '^\* cpu1 +.* [0-9:.]+( s)? - [0-9:.]+( s)? ' <<<"$stderr"
    if grep -Eq ' conv2d .* measured$' "$1"; then
        grep -Eq '^\* cpu1 .* measured$' <<<"$stderr"
        [[ $stderr =~ "time limit set to "([0-9:-]+)" (cpu1)" ]]
    fi
}

@test "an ordinary user gathers; what cannot be measured says why and stops nothing else" {
    as_user "$site" gather --folder bench --full 9s --partitions cpu1,p100 --python "$python" \
        -- --comment=mine >out 2>err 3>&- &
    wait_for_line . bench/cpu1.cpu1-1.id
    job=$(cat bench/cpu1.cpu1-1.id)
    [ "$(job_field "$job" Comment)" = mine ]
    # Slurm may requeue it: it goes on with its own file.
    wait_for_line '"op"' bench/cpu1.cpu1-1.jsonl
    scontrol requeue "$job"
    # At once, instead of after the usual two minutes.
    until [[ $(job_field "$job" Restarts) == 1 && $(job_field "$job" JobState) == PENDING ]]; do
        sleep 0.2
    done
    scontrol update jobid="$job" starttime=now
    status=0
    wait $! || status=$?
    cat out err
    [ "$status" -eq 1 ]
    grep -E '^p100 +p100 +p100-1 +failed +0 +0 +0  no NVIDIA driver on p100-1$' out
    grep -E '^cpu1 +cpu1 +cpu1-1 +done +[0-9]+ +[2-9] +[0-9]+ *$' out
    grep -q 'next: dltime-site install --folder' err
    [ "$(job_field "$job" Restarts)" = 1 ]
    [ "$(grep -c '"format"' bench/cpu1.cpu1-1.jsonl)" -eq 1 ]
}

@test "steps of PyTorch are gathered where Python has torch, and a line says where it has not" {
    if ! as_user "$python" -c 'import torch' 2>/dev/null; then
        grep -qx "$python has no torch: steps of PyTorch are not measured" bench/cpu1.cpu1-1.log
        [ ! -e bench/cpu1.cpu1-1.torch.jsonl ]
        skip "$python has no torch"
    fi
    run ! grep 'has no torch' bench/cpu1.cpu1-1.log
    [ "$(jq -s '.[1].framework | startswith("pytorch ")' bench/cpu1.cpu1-1.torch.jsonl)" = true ]
    grep -qx lenet5:16,128 bench/cpu1.cpu1-1.torch
    [ "$(jq -r '.software.framework // .op' bench/cpu1.cpu1-1.layers.jsonl | head -n 1 | cut -c 1-8)" = "pytorch " ]
    [ "$(wc -l <bench/cpu1.cpu1-1.layers.jsonl)" -gt 1 ]
    run -0 --separate-stderr "$site" install --folder bench --dry-run
    grep -Eq '^cpu1 .* 1 node, 0 days old, pytorch [0-9.a-z+]+: [0-9]+ layers and [0-9]+ runs$' <<<"$output"
}

@test "gathering again measures nothing twice, and goes on where a job was lost" {
    rows=$(wc -l <bench/cpu1.cpu1-1.jsonl)
    job=$(cat bench/cpu1.cpu1-1.id)
    run -0 --separate-stderr as_user "$site" gather --folder bench --full 9s --partitions cpu1
    [ "$(wc -l <bench/cpu1.cpu1-1.jsonl)" -eq "$rows" ]
    [ "$(cat bench/cpu1.cpu1-1.id)" = "$job" ]
    # As after a cancelled job: it is neither done nor queued. The third time that Slurm is asked, when
    # the job has just begun, it does not answer, which makes the job no lost one.
    echo running >bench/cpu1.cpu1-1.state
    mkdir -m 777 busy
    printf '#!/bin/sh\necho >>%s/calls\n[ $(wc -l <%s/calls) -eq 3 ] || exec %s "$@"\nexit 1\n' \
        "$PWD/busy" "$PWD/busy" "$(command -v squeue)" >busy/squeue
    chmod 755 busy/squeue
    local submitted
    submitted=$(squeue -h -a -t all -n dltime-gather:cpu1.cpu1-1 | wc -l)
    PATH=$PWD/busy:$PATH run -0 --separate-stderr as_user "$site" gather --folder bench --full 3s --partitions cpu1
    [ "$(cat bench/cpu1.cpu1-1.id)" != "$job" ]
    [ "$(squeue -h -a -t all -n dltime-gather:cpu1.cpu1-1 | wc -l)" -eq $((submitted + 1)) ]
    (($(wc -l <busy/calls) > 3))
    rm -r busy
    grep -Eq '^cpu1 +cpu1 +cpu1-1 +done' <<<"$output"
    [ "$(wc -l <bench/cpu1.cpu1-1.jsonl)" -ge "$rows" ]
}

@test "a job keeps to its partition's limit, and says so where that is too short" {
    (($(id -u) == 0)) || skip "only the owner of the cluster changes a partition"
    scontrol update PartitionName=p100 MaxTime=6
    run -1 --separate-stderr as_user "$site" gather --folder short --full 1h --partitions p100
    grep -Eq '^p100 .* failed .* partition p100 allows 6 min; measure less with --full$' <<<"$output"
    run --separate-stderr as_user "$site" gather --folder short --full 1m --partitions p100
    [ "$(job_field "$(cat short/p100.p100-1.id)" TimeLimit)" = 00:06:00 ]
    scontrol update PartitionName=p100 MaxTime=7-0
}

@test "install trains, and a submission shows the measured table" {
    gather_more as_user "$site"
    run -0 --separate-stderr "$site" install --folder bench --dry-run
    grep -Eq '^cpu1 .* 1 node, 0 days old(,|$)' <<<"$output"
    grep -Eq '^p100 +not measured: no NVIDIA driver on p100-1$' <<<"$output"
    grep -q 'name = "v100"; nodes = 2; cores_per_node = 40; gpus_per_node = 4; gpu_type = "v100"' \
        <<<"$output"
    [ ! -e "$(slurm_dltime_conf)" ]
    run -0 --separate-stderr "$site" install --folder bench
    [ -s "$(dirname "$(slurm_dltime_conf)")/site/current/cpu1.dlp" ]
    grep -q cpu1.cpu1-1.jsonl "$(dirname "$(slurm_dltime_conf)")/site/current/sources.txt"
    printf '#!/bin/sh\n' >job.sh
    measured_network
    run -0 --separate-stderr sbatch --parsable --hold -p cpu1 -c 1 --dl-model="$spec" job.sh
    [[ $output =~ ^[0-9]+$ ]]
    check_table "$(dirname "$(slurm_dltime_conf)")/site/current/accuracy.txt"
    if [[ $stderr =~ "time limit set to "([0-9:-]+)" (cpu1)" ]]; then
        [ "$(seconds_of "$(job_field "$output" TimeLimit)")" = "$(seconds_of "${BASH_REMATCH[1]}")" ]
    fi
    scancel "$output"
}

@test "how far two nodes of one device differ is said" {
    mkdir two && cp bench/devices bench/cpu1.cpu1-1.* two
    # A second node, a tenth slower in everything.
    jq -c 'if .op then .median_ms *= 1.1 else . end' bench/cpu1.cpu1-1.jsonl >two/cpu1.cpu1-2.jsonl
    run -0 --separate-stderr "$site" install --folder two --dry-run
    grep -Eq '^cpu1 .* 2 nodes that differ by 10 %, 0 days old(,|$)' <<<"$output"
}

@test "generations are kept, switched in one rename, and rolled back to" {
    etc=$(dirname "$(slurm_dltime_conf)")
    first=$(readlink "$etc/site/current")
    sleep 1
    run -0 --separate-stderr "$site" install --folder bench
    [[ $output == *"$first is kept: dltime-site rollback goes back to it"* ]]
    [ "$(readlink "$etc/site/current")" != "$first" ]
    # Files of the earlier one are as they were.
    [ -s "$etc/site/$first/cpu1.dlp" ]
    run -0 "$site" list
    [ "$(grep -c '^\*' <<<"$output")" -eq 1 ]
    [ "$(wc -l <<<"$output")" -eq 2 ]
    run -0 "$site" rollback
    [ "$(readlink "$etc/site/current")" = "$first" ]
    run -1 "$site" rollback
    [[ $output == *"there is no generation before $first"* ]]
    run -1 "$site" rollback nonsense
}

@test "what others left in the folder is no path and nothing to wait for" {
    mkdir hostile && cp bench/devices bench/cpu1.cpu1-1.* hostile
    sed -i '1s/"device": *{"name": *"/&\\u001b[2J/' hostile/cpu1.cpu1-1.*jsonl
    printf '{"format":"dltime-measu' >hostile/cpu1.a.jsonl
    mkfifo hostile/cpu1.other.jsonl hostile/cpu1.other.state hostile/p100.p100-1.jsonl
    run -0 --separate-stderr timeout 120 "$site" install --folder hostile --dry-run
    grep -Eq '^cpu1 +[?]\[2J.* 1 node, 0 days old(,|$)' <<<"$output"
    [[ $output != *$'\e'* ]]
    for name in '../../../tmp/x' '.' 'a b' '*'; do
        printf '%s|cpu:1|cpu|\n' "$name" >hostile/devices
        run -1 --separate-stderr timeout 60 "$site" install --folder hostile --dry-run
        [[ $stderr == *'hostile/devices: "'*'" is not NAME|KEY|cpu or gpu|TYPE; '* ]]
    done
    rm hostile/devices && mkfifo hostile/devices
    run -1 --separate-stderr timeout 60 "$site" install --folder hostile --dry-run
    [[ $stderr == *"hostile/devices is no regular file"* ]]
    run -1 "$site" gather --partitions '*'
    [[ $output == *"there is no partition *; there are: "* ]]
}

@test "two do not install at once" {
    etc=$(dirname "$(slurm_dltime_conf)")
    exec 7>>"$etc/site/.lock"
    flock 7
    run -1 --separate-stderr "$site" install --folder bench
    [[ $stderr == *"another dltime-site is at work beside "* ]]
    run -1 --separate-stderr "$site" rollback
    [[ $stderr == *"another dltime-site is at work beside "* ]]
    exec 7<&-
    # What anybody may open and lock stops nobody.
    [ "$(stat -c %a "$etc/site/.lock")" = 600 ]
    exec 7<"$etc" 6<"$etc/site"
    flock 7 && flock 6
    run -1 --separate-stderr "$site" rollback nonsense
    [[ $stderr == *"has no generation nonsense"* ]]
    exec 7<&- 6<&-
}

@test "limits of accounting become max_wall" {
    # As `sacctmgr -nP` prints them; the cluster here keeps no accounts.
    mkdir -p fake
    cat >fake/sacctmgr <<'END'
#!/bin/sh
case "$*" in
*assoc*) printf '|3-00:00:00|normal\n||normal\ncpu2|12:30:00|long\n' ;;
*) printf 'normal|2-00:00:00\nlong|7-00:00:00\n' ;;
esac
END
    chmod +x fake/sacctmgr
    PATH=$PWD/fake:$PATH run -0 --separate-stderr "$site" install --folder bench --dry-run
    grep -A2 'name = "cpu1"' <<<"$output" | grep -q 'max_wall = "2-00:00:00"'
    grep -A2 'name = "cpu2"' <<<"$output" | grep -q 'max_wall = "0-12:30:00"'
}

@test "somebody who does not own dltime.conf cannot install" {
    (($(id -u) == 0)) || skip "root has to own dltime.conf here"
    run -1 as_user "$site" install --folder bench
    [[ $output == *"belongs to root: run this as its owner"* ]]
}

@test "a site's own dltime.conf is left alone, and the shipped line is enabled" {
    mkdir "$folder/etc" && cd "$folder/etc"
    cp "$source_dir/etc/dltime.conf" mine.conf
    run -0 "$site" install --folder ../work/bench --conf "$PWD/mine.conf"
    [ "$(diff "$source_dir/etc/dltime.conf" mine.conf | grep -c '^[<>]')" -eq 2 ]
    grep -q '^include = "site/current/partitions.conf";$' mine.conf
    echo 'grain = "5m";' >own.conf
    run -0 "$site" install --folder ../work/bench --conf "$PWD/own.conf"
    [[ $output == *'add this line to '*'own.conf: include = "site/current/partitions.conf";'* ]]
    [ "$(cat own.conf)" = 'grain = "5m";' ]
}

@test "wrong usage says what and how to mend it" {
    run -2 "$site"
    run -2 "$site" gather --full soon
    [[ $output == *'--full "soon": a time is wanted'* ]]
    run -2 "$site" gather --quick --full 3m
    run -2 "$site" gather cpu1
    [[ $output == *'unexpected "cpu1"'* ]]
    run -2 "$site" gather --dry-run
    [[ $output == *"--dry-run is not for gather"* ]]
    run -1 "$site" gather --partitions cpu1,nope
    [[ $output == *"there is no partition nope; there are: "*cpu2* ]]
    run -1 "$site" install --folder nothing
    [[ $output == *"nothing holds nothing that was gathered"* ]]
    run -0 "$site" --help
}

@test "examples of dltime-site(8) run" {
    examples() { "$source_dir/tests/examples" "$source_dir/man/$1" | sed "s#/scratch/bench#bench#"; }
    mkdir -p "$folder/bin"
    ln -sf "$site" "$folder/bin/dltime-site"
    examples dltime-site.8 >script
    # Gathered it is already; of the other lines the first install and rollback tell enough.
    PATH=$folder/bin:$PATH bash -euxo pipefail <(sed -n '/^dltime-site install.*--dry-run/,$p' script |
        grep -v dry-run)
}

@test "without root rights a user has all of it on a cluster of their own" {
    (($(id -u) == 0)) || skip "the tests before ran without root rights"
    own=$folder/own
    on_own() {
        SLURM_DEV_ROOT=$own/slurm as_user "$folder/tree/scripts/slurm-dev" "$@"
    }
    mkdir -m 755 "$own" && chown nobody "$own"
    cd "$own"
    unset SLURM_CONF
    on_own start
    rm -f slurm/etc/dltime.conf
    on_own run "$site" gather --folder bench --full 9s --partitions cpu1,a100 >out 2>&1 || true
    grep -E '^cpu1 .* done ' out || { cat out && on_own stop && false; }
    gather_more on_own run "$site"
    on_own run "$site" install --folder bench || { on_own stop && false; }
    printf '#!/bin/sh\n' >job.sh
    measured_network
    run --separate-stderr on_own run sbatch --hold -p cpu1 -c 1 --dl-model="$spec" job.sh
    cp slurm/etc/site/current/accuracy.txt .
    on_own stop
    check_table accuracy.txt
}
