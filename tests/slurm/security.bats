#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# What runs as root, who is believed, and what reaches a terminal.

# shellcheck disable=SC2030,SC2031 # each test has its own job

load plugin

setup_file() { plugin_start; }
teardown_file() { plugin_stop; }
setup() { plugin_setup; }

undefined() {
    nm -D --undefined-only "$1" | awk '{ print $2 }' | sed 's/@.*//' | sort
}

@test "in slurmd and slurmstepd only the small object is mapped" {
    local job pid found=0
    submitted sbatch --parsable "${v100[@]}" "$long" -w v100-1 -o /dev/null --wrap 'sleep 30'
    until [[ $(job_field "$job" JobState) == RUNNING ]]; do sleep 0.1; done
    sleep 0.5
    for pid in $(pgrep -f "slurmstepd: \[$job\.") "$(cat "$SLURM_DEV_ROOT/run/slurmd.v100-1.pid")"; do
        [[ -r /proc/$pid/maps ]] || continue
        run ! grep -E 'advise\.so|libjson-c|libconfig' "/proc/$pid/maps"
        found=$((found + $(grep -c 'spank_dltime.so' "/proc/$pid/maps" || true)))
    done
    scancel "$job"
    # slurmstepd has it; slurmd opens its plugins anew for each job.
    ((found > 0))
}

@test "the small object can neither parse, nor load, without dlopen in a submission" {
    run -1 grep -E '^(fopen|fdopen|open|openat|read|pread|fread|fgets|getline|scanf|sscanf|strto.*|atoi|mmap|pthread_create|fork|exec.*|system|popen|socket|connect)$' \
        <(undefined "$BUILD/spank_dltime.so")
    # By context: slurm_spank_init in slurmd and slurmstepd registers names, and that is all.
    undefined "$BUILD/spank_dltime.so" | grep -qx dlopen
}

need_valgrind() {
    command -v valgrind >/dev/null || skip "valgrind is not installed"
    [[ -z ${SANITIZED:-} ]] || skip "valgrind and the sanitizers do not go together"
}

@test "slurmd and slurmstepd under valgrind: no misuse of memory by the plugin" {
    need_valgrind
    local pid=$SLURM_DEV_ROOT/run/slurmd.v100-2.pid checked
    mkdir -m 777 grind
    kill "$(cat "$pid")"
    until ! kill -0 "$(cat "$pid")" 2>/dev/null; do sleep 0.1; done
    env -i PATH="$PATH" LANG=C SLURM_CONF="$SLURM_CONF" SLURM_DEV_DAEMON="$SLURM_DEV_ROOT" \
        setsid valgrind --trace-children=yes --trace-children-skip='*/sh,*/bash,*/true,*/env,*/scontrol' \
        --leak-check=full --errors-for-leak-kinds=definite --log-file="$folder/grind/%p.log" \
        /usr/sbin/slurmd -D -N v100-2 -f "$SLURM_CONF" >grind.out 2>&1 3>&- &
    echo $! >"$pid"
    for ((i = 0; i < 300; i++)); do
        grep -qs 'slurmd started' "$SLURM_DEV_ROOT/log/slurmd.v100-2.log" &&
            [[ $(sinfo -h -n v100-2 -o %T) == idle ]] && break
        sleep 0.2
    done
    submitted sbatch --parsable "${v100[@]}" -w v100-2 "$long" -o /dev/null --wrap 'srun --dl-model=mlp.json true'
    [[ $(wait_job "$job" 120) == COMPLETED ]]
    kill "$(cat "$pid")"
    for ((i = 0; i < 100; i++)); do
        kill -0 "$(cat "$pid")" 2>/dev/null || break
        sleep 0.1
    done
    checked=$(grep -l 'slurmd\|slurmstepd' grind/*.log | wc -l)
    ((checked >= 2))
    # Slurm has findings of its own; none may have the plugin in its stack.
    run ! grep -h -B 12 'spank_dltime\|advise\.so' grind/*.log
    grep -h '^==.*ERROR SUMMARY' grind/*.log
    slurmd_again
}

# The node's slurmd as slurm-dev had it.
slurmd_again() {
    env -i PATH="$PATH" LANG=C SLURM_CONF="$SLURM_CONF" SLURM_DEV_DAEMON="$SLURM_DEV_ROOT" \
        setsid /usr/sbin/slurmd -D -N v100-2 -f "$SLURM_CONF" >/dev/null 2>&1 3>&- &
    echo $! >"$SLURM_DEV_ROOT/run/slurmd.v100-2.pid"
}

@test "a submission under valgrind shows no misuse of memory" {
    need_valgrind
    run valgrind -q --error-exitcode=99 sbatch --hold -p v100 --gres=gpu:1 "$long" : \
        -p a100 --gres=gpu:1 "$long" : -p p100 --gres=gpu:1 --wrap true
    [[ $output == *"time limit set to"* ]]
    [[ $output != *"Invalid"* ]]
    ((status == 0))
}

@test "an advise.so that others could have written or replaced is not opened" {
    local stack=$SLURM_DEV_ROOT/etc/plugstack.conf kept
    kept=$(<"$stack")
    mkdir -m 777 open
    cp "$BUILD/advise.so" open/
    echo "$kept advise=$folder/open/advise.so" >"$stack"
    submit "${v100[@]}" "$long"
    warned_once "$folder/open: others may write to it"
    unchanged
    chmod 755 open
    chmod 666 open/advise.so
    submit "${v100[@]}" "$long"
    warned_once "$folder/open/advise.so: others may write to it"
    chmod 755 open/advise.so
    submit "${v100[@]}" "$long"
    set_as_said
    echo "$kept advise=open/advise.so" >"$stack"
    submit "${v100[@]}" "$long"
    warned_once "not an absolute path"
    echo "$kept" >"$stack"
}

@test "configuration and profiles are believed by owner and mode, along their path" {
    need_root
    local theirs=$folder/theirs
    mkdir "$theirs"
    cp v100.dlp "$theirs/"
    chown -R 65534:65534 "$theirs"
    conf_with '' "$(site v100 v100 'gpus_per_node = 4;' | sed "s|$folder/v100.dlp|$theirs/v100.dlp|")"
    submit "${v100[@]}" "$long"
    warned_once "belongs to user 65534"
    unchanged
    # Whose it is may use it.
    submitted other sbatch --parsable --hold "${v100[@]}" "$long" --wrap true
    set_as_said
    # A link of one's own to what one may read is judged by where it leads.
    conf
    mv "$(slurm_dltime_conf)" "$theirs/dltime.conf"
    ln -s "$theirs/dltime.conf" "$(slurm_dltime_conf)"
    submit "${v100[@]}" "$long"
    warned_once "theirs"
    unchanged
    rm "$(slurm_dltime_conf)"
}

@test "a cache of somebody else's is not believed" {
    need_root
    sed -i 's/snapshot_age = 0/snapshot_age = 60/' "$(slurm_dltime_conf)"
    rm -rf "$XDG_RUNTIME_DIR/dltime"
    mkdir -m 777 "$XDG_RUNTIME_DIR/dltime"
    submit "${v100[@]}" "$long"
    set_as_said
    [[ -z $(ls "$XDG_RUNTIME_DIR/dltime") ]]
    rmdir "$XDG_RUNTIME_DIR/dltime"
}

@test "format strings and terminal escapes in names are harmless" {
    local name=$'m\e[31m\a%s%n%d\x9b2J.json'
    cp mlp.json "$name"
    sed -i "s/\"name\": \"mlp\"/\"name\": \"m%s%n\\\\u001b[31mlp\"/" "$name"
    submit "${v100[@]}" --dl-model="$name",epochs=200
    set_as_said
    says 'm%s%n?[31mlp'
    run ! grep -q $'[\x01-\x08\x0b-\x1f\x7f]' <<<"$stderr"
    run --separate-stderr sbatch --hold "${v100[@]}" --dl-model=$'absent\e]0;title\a%s%n.json' --wrap true
    ((status != 0))
    run ! grep -q $'[\x01-\x08\x0b-\x1f\x7f]' <<<"$(grep ^dltime <<<"$stderr")"
    [[ $(grep ^dltime <<<"$stderr") == *'absent?]0;title?%s%n.json'* ]]
    run --separate-stderr sbatch --hold "${v100[@]}" "$long" --dl-time=$'\e[2J%n' --wrap true
    run ! grep -q $'\e' <<<"$(grep ^dltime <<<"$stderr")"
    DL_MODEL=$'\e[2J%s%n' submit "${v100[@]}"
    run ! grep -q $'\e' <<<"$stderr"
}

@test "the SPEC is read with the submitter's rights, in the submitter's process" {
    need_root
    cp mlp.json secret.json
    chmod 600 secret.json
    run --separate-stderr other sbatch --hold "${v100[@]}" --dl-model=secret.json,epochs=2 --wrap true
    ((status != 0))
    says "secret.json: Permission denied"
    [[ $stderr != *layers* ]]
}
