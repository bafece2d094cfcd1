#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Whatever goes wrong, the submission goes on as if the plugin were not there, with one warning.

# shellcheck disable=SC2030,SC2031 # each test has its own job

load plugin

setup_file() { plugin_start; }
teardown_file() { plugin_stop; }
setup() {
    plugin_setup
    stack=$SLURM_DEV_ROOT/etc/plugstack.conf
    [[ -e stack.kept ]] || cp "$stack" stack.kept
    cp stack.kept "$stack"
}

# Copies of both objects in a folder of their own, where they may be spoiled.
own_objects() {
    rm -rf own
    mkdir own
    cp "$BUILD/spank_dltime.so" "$BUILD/advise.so" own/
    sed "s|^optional [^ ]*|optional $folder/own/spank_dltime.so|" stack.kept >"$stack"
}

# While the controller is stopped: sbatch is started in the background, and CONDITION, a command, has
# to come true within SECONDS. Prints how long it took.
stopped() { # SECONDS CONDITION...
    local seconds=$1 pid begin submission
    shift
    pid=$(cat "$SLURM_DEV_ROOT/run/slurmctld.pid")
    kill -STOP "$pid"
    begin=$EPOCHREALTIME
    sbatch --parsable --hold "${v100[@]}" "$long" --wrap true >out 2>err 3>&- &
    submission=$!
    until "$@" || ! kill -0 "$submission" 2>/dev/null ||
        ! awk -v a="$begin" -v b="$EPOCHREALTIME" -v s="$seconds" 'BEGIN { exit b - a < s ? 0 : 1 }'; do
        sleep 0.02
    done
    took=$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')
    kill -CONT "$pid"
    wait "$submission"
    job=$(cat out)
    stderr=$(cat err)
    echo "took $took s"
    awk -v t="$took" -v s="$seconds" 'BEGIN { exit t < s ? 0 : 1 }'
}

@test "a bad DL_MODEL costs one warning" {
    DL_MODEL=resnet5 submit "${v100[@]}"
    warned_once "DL_MODEL: resnet5"
    unchanged
}

@test "a missing profile costs one warning" {
    conf_with '' "$(site v100 absent 'gpus_per_node = 4;')"
    submit "${v100[@]}" "$long"
    warned_once "no estimate for v100"
    says "absent.dlp"
    unchanged
}

@test "a profile that is cut short or altered costs one warning" {
    cp v100.dlp spoiled.dlp
    conf_with '' "$(site v100 v100 'gpus_per_node = 4;' | sed 's/v100.dlp/spoiled.dlp/')"
    submit "${v100[@]}" "$long"
    set_as_said
    truncate -s -100 spoiled.dlp
    submit "${v100[@]}" "$long"
    warned_once "spoiled.dlp"
    unchanged
    head -c 10 v100.dlp >spoiled.dlp
    submit "${v100[@]}" "$long"
    warned_once "spoiled.dlp"
    : >spoiled.dlp
    submit "${v100[@]}" "$long"
    warned_once "spoiled.dlp"
    head -c 100000 /dev/zero >spoiled.dlp
    submit "${v100[@]}" "$long"
    warned_once "spoiled.dlp"
    unchanged
}

@test "a missing, a broken and an open configuration cost one warning each" {
    local file
    file=$(slurm_dltime_conf)
    rm "$file"
    submit "${v100[@]}" "$long"
    warned_once "$file: No such file"
    unchanged
    echo 'confidense = 0.9;' >"$file"
    submit "${v100[@]}" "$long"
    warned_once "did you mean confidence?"
    echo 'partitions = ( { name = "v100"' >"$file"
    submit "${v100[@]}" "$long"
    warned_once "$file: line"
    echo 'snapshot_age = -5;' >"$file"
    submit "${v100[@]}" "$long"
    warned_once "line 1: snapshot_age: has to be a time, such as 60 (seconds), or 0"
    unchanged
    conf
    chmod 666 "$file"
    submit "${v100[@]}" "$long"
    warned_once "others may write to it"
    unchanged
    rm "$file"
}

@test "advise.so: missing, not an object, of another build, of missing symbols" {
    own_objects
    submit "${v100[@]}" "$long"
    set_as_said
    rm own/advise.so
    submit "${v100[@]}" "$long"
    warned_once "advise.so"
    unchanged
    echo text >own/advise.so
    submit "${v100[@]}" "$long"
    warned_once "advise.so"
    unchanged
    gcc -shared -fPIC -x c - -o own/advise.so <<<'int dltime_advise(void *call) { return call ? 1 : 0; }'
    submit "${v100[@]}" "$long"
    warned_once "are of different builds"
    unchanged
    gcc -shared -fPIC -x c - -o own/advise.so <<<'extern int slurm_of_another_release(void *);
        int dltime_advise(void *call) { return slurm_of_another_release(call); }'
    submit "${v100[@]}" "$long"
    warned_once "slurm_of_another_release"
    unchanged
    gcc -shared -fPIC -x c - -o own/advise.so <<<'int nothing;'
    submit "${v100[@]}" "$long"
    warned_once "dltime_advise"
    unchanged
}

@test "Slurm without slurm_opt_create_job_desc: its options are read one by one" {
    # As in 20.11. Before the plugin, since dlsym is the C library's; without that library's functions,
    # which a sanitizer asks dlsym for.
    gcc -shared -fPIC -x c - -o old.so <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
void *dlsym(void *handle, const char *name)
{
    static const char lacks[] = "slurm_opt_create_job_desc";
    static void *(*real)(void *, const char *);
    unsigned i = 0;
    while (i < sizeof lacks && name[i] == lacks[i])
        i++;
    if (!real)
        real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    if (!real)
        real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    return i == sizeof lacks ? 0 : real(handle, name);
}
END
    local how expected
    for how in --gres=gpu:2 --gres=gpu:v100:2 --gpus=2 --gpus-per-node=v100:2 "--gpus-per-task=1 -n 2"; do
        # shellcheck disable=SC2086
        submit -p v100 $how "$long"
        expected=$(limit)
        # shellcheck disable=SC2086
        LD_PRELOAD=$folder/old.so submit -p v100 $how "$long"
        set_as_said
        [[ $(limit) == "$expected" ]] || { echo "$how: $(limit), not $expected"; return 1; }
    done
    LD_PRELOAD=$folder/old.so submit -p v100,p100 --gres=gpu:1 --time=2 "$long"
    [[ $(job_field "$job" TimeLimit) == 00:02:00 ]]
    warns "--time=00:02:00 is probably too short: on p100"
}

@test "an unmatched Slurm release costs one warning" {
    gcc -shared -fPIC -x c - -o release.so <<<'long slurm_api_version(void) { return 0x230000; }'
    LD_PRELOAD=$folder/release.so submit "${v100[@]}" "$long"
    warned_once "built for another release of Slurm"
    unchanged
}

@test "a Slurm that does not take the tag costs one warning, and the limit stands" {
    gcc -shared -fPIC -x c - -o comment.so <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>
int slurm_option_set(void *opt, const char *name, const char *value, bool early)
{
    int (*real)(void *, const char *, const char *, bool) = dlsym(RTLD_NEXT, "slurm_option_set");
    return strcmp(name, "comment") == 0 ? 0 : real(opt, name, value, early);
}
END
    conf 'tag = true;'
    submit "${v100[@]}" "$long"
    [[ $(job_field "$job" Comment) == dltime:* && $stderr != *warning* ]]
    LD_PRELOAD=$folder/comment.so submit "${v100[@]}" "$long"
    warns "Slurm did not take the job's comment"
    [[ $(grep -c warning <<<"$stderr") == 1 ]]
    [[ $(job_field "$job" Comment) != *dltime:* ]]
    set_as_said
}

@test "a controller that does not answer costs the deadline and one warning" {
    conf 'deadline = 0.5;'
    stopped 2 grep -q warning err
    warned_once "Slurm's controller did not answer within 0.5 s"
    # The deadline; and what a busy machine takes to start sbatch.
    awk -v t="$took" 'BEGIN { exit t >= 0.5 && t < 1.5 ? 0 : 1 }'
    unchanged
}

@test "a controller that is away adds no more than the deadline to Slurm's own patience" {
    local begin
    conf 'deadline = 0.5;'
    sed 's/^SlurmctldPort=.*/SlurmctldPort=1/; s/^MessageTimeout.*//' "$SLURM_DEV_ROOT/etc/slurm.conf" >away.conf
    cp "$SLURM_DEV_ROOT"/etc/plugstack.conf .
    begin=$EPOCHREALTIME
    run timeout 60 env SLURM_CONF="$folder/away.conf" sinfo
    ((status != 0))
    run --separate-stderr timeout -s INT 3 env SLURM_CONF="$folder/away.conf" sbatch --hold "${v100[@]}" "$long" --wrap true
    ((status != 0))
    [[ $(grep -c '^dltime: ' <<<"$stderr") == 1 ]]
    grep -q "^dltime: warning: Slurm's controller" <<<"$stderr"
}

@test "a snapshot is reused for as long as the site says" {
    conf
    sed -i 's/snapshot_age = 0/snapshot_age = 60/' "$(slurm_dltime_conf)"
    submit "${v100[@]}" "$long"
    stopped 3 grep -q 'time limit set to' err
    set_as_said
}

@test "a cache that was spoiled is asked for anew" {
    sed -i 's/snapshot_age = 0/snapshot_age = 60/' "$(slurm_dltime_conf)"
    submit "${v100[@]}" "$long"
    local file
    for file in "$XDG_RUNTIME_DIR"/dltime/snapshot-*; do
        head -c 30 /dev/urandom >"$file"
    done
    submit "${v100[@]}" "$long"
    set_as_said
}

@test "a disk that is full" {
    sed -i 's/snapshot_age = 0/snapshot_age = 60/' "$(slurm_dltime_conf)"
    rm -rf "$XDG_RUNTIME_DIR/dltime"
    # No file may grow beyond nothing, and a signal would end whoever tries.
    run bash -c '(ulimit -f 0; exec sbatch --hold "$@" --wrap true) 2>&1 | cat' - "${v100[@]}" "$long"
    [[ $output == *"time limit set to"*"Submitted batch job"* ]]
    [[ -z $(ls "$XDG_RUNTIME_DIR/dltime") ]]
    # Not even what is said has room.
    run bash -c 'ulimit -f 0; exec sbatch --hold "$@" --wrap true 2>said | cat' - "${v100[@]}" "$long"
    [[ $output == "Submitted batch job"* && ! -s said ]]
}

@test "a runtime folder that cannot be written, and none" {
    sed -i 's/snapshot_age = 0/snapshot_age = 60/' "$(slurm_dltime_conf)"
    XDG_RUNTIME_DIR=/proc submit "${v100[@]}" "$long"
    set_as_said
    XDG_RUNTIME_DIR=relative submit "${v100[@]}" "$long"
    set_as_said
    rm -rf /tmp/dltime-"$(id -u)"
}

@test "a terminal that went away, and one that is closed" {
    local before
    before=$(squeue -h -a | wc -l)
    mkfifo pipe
    true <pipe &
    sbatch --hold "${v100[@]}" "$long" --wrap true 2>pipe >out 3>&-
    grep -q '^Submitted' out
    sbatch --hold "${v100[@]}" "$long" --wrap true 2>&- >out
    grep -q '^Submitted' out
    sbatch --hold "${v100[@]}" "$long" --wrap true 2>&- <&- >out
    grep -q '^Submitted' out
    [[ $(squeue -h -a | wc -l) == $((before + 3)) ]]
}

@test "Ctrl-C while the controller is slow ends the submission and its child" {
    local pid submission
    pid=$(cat "$SLURM_DEV_ROOT/run/slurmctld.pid")
    kill -STOP "$pid"
    # A background process of a script ignores SIGINT; setsid's does not.
    setsid bash -c 'trap - INT; exec sbatch --hold "$@" --wrap true' - "${v100[@]}" "$long" >out 2>err 3>&- &
    submission=$!
    until [[ $(pgrep -c -P "$submission") -gt 0 ]] || ! kill -0 "$submission" 2>/dev/null; do sleep 0.05; done
    children=$(pgrep -P "$submission")
    kill -TERM "$submission"
    run wait "$submission"
    kill -CONT "$pid"
    sleep 0.2
    [[ -n $children ]]
    # Gone, or dead and waiting for a reaper.
    for pid in $children; do
        [[ ! -e /proc/$pid || $(cut -d ' ' -f 3 "/proc/$pid/stat") == Z ]]
    done
}

@test "a caller that ignores its children" {
    submitted bash -c 'trap "" CHLD; exec sbatch --parsable --hold "$@" --wrap true' - "${v100[@]}" "$long"
    set_as_said
}

@test "PrivateData=nodes: nodes are not asked for" {
    need_root
    slurm_add PrivateData=nodes
    printf 'snapshot_age = 0;\ndeadline = 20;\nprofile = "%s/v100.dlp";\n' "$folder" >"$(slurm_dltime_conf)"
    submitted other sbatch --parsable --hold "${v100[@]}" "$long" --wrap true
    warned_once "dltime.conf does not describe it"
    unchanged
    run ! grep -i 'security violation.*NODE' "$SLURM_DEV_ROOT/log/slurmctld.log"
    conf
    submitted other sbatch --parsable --hold "${v100[@]}" "$long" --wrap true
    set_as_said
    slurm_reset
}

@test "PrivateData=partitions: dltime.conf alone is believed, and only max_wall is set under" {
    need_root
    slurm_add PrivateData=partitions
    submitted other sbatch --parsable --hold "${v100[@]}" "$long" --wrap true
    says "not known here"
    unchanged
    conf_with '' "$(site v100 v100 'gpus_per_node = 4; max_wall = "1-0";')"
    submitted other sbatch --parsable --hold "${v100[@]}" "$long" --wrap true
    set_as_said
    run -0 other dltime advise "${long#--dl-model=}" --conf "$(slurm_dltime_conf)" -- "${v100[@]}"
    diff <(echo "${stderr/ set to/ would be set to}") <(echo "$output")
    # The job may land where nobody knows how long it takes.
    submitted other sbatch --parsable --hold -p v100,p100 --gres=gpu:1 "$long" --wrap true
    warns "no estimate for p100, so the time limit is left alone: dltime.conf does not describe it"
    unchanged
    printf 'snapshot_age = 0;\nprofile = "%s/v100.dlp";\n' "$folder" >"$(slurm_dltime_conf)"
    submitted other sbatch --parsable --hold "${v100[@]}" "$long" --wrap true
    warned_once "Slurm keeps its partitions to itself (PrivateData)"
    unchanged
    run other dltime advise "${long#--dl-model=}" --conf "$(slurm_dltime_conf)" -- -M elsewhere
    [[ $output == *"nothing is set, because --clusters is given"* ]]
    run ! grep -i 'security violation.*PARTITION' "$SLURM_DEV_ROOT/log/slurmctld.log"
    slurm_reset
}

@test "a locale with decimal commas changes nothing" {
    local here=${LOCPATH:-$folder/locales}
    [[ -e $here/de_DE.UTF-8 ]] || { mkdir -p "$here" && localedef -i de_DE -f UTF-8 "$here/de_DE.UTF-8"; } ||
        skip "no such locale can be made"
    submit "${v100[@]}" "$long"
    local plain=$stderr
    LOCPATH=$here LC_ALL=de_DE.UTF-8 submit "${v100[@]}" "$long"
    [[ $stderr == "$plain" ]]
}
