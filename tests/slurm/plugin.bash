# SPDX-License-Identifier: Apache-2.0
#
# For the bats files about the plugin: a cluster with profiles of made-up devices, and submissions
# that are held, so that nothing runs and scontrol shows what the plugin did. The profiles are made
# from synthetic measurements: what is tested is what becomes of an estimate, not the estimate.
#
#   load plugin
#   setup_file() { plugin_start; }
#   teardown_file() { plugin_stop; }
#   setup() { plugin_setup; }

# shellcheck disable=SC2154 # source_dir is the helper's; run sets output, stderr and status
# shellcheck disable=SC2034,SC2119,SC2120 # v100, long and job are the tests'

load helper

plugin_start() {
    slurm_start "$@" || return 1
    # Not bats' own folder, which other users cannot enter.
    folder=$(mktemp -d /tmp/dltime-plugin-XXXXXX)
    chmod 755 "$folder"
    mkdir -m 700 "$folder/runtime"
    export folder XDG_RUNTIME_DIR=$folder/runtime
    cd "$folder" || return 1
    profile v100 "Synthetic V100" 1 900 16
    profile a100 "Synthetic A100" 4 3600 40
    profile p100 "Synthetic P100" 0.5 450 16
    profile cpu1 "Synthetic CPU" 0.05 20 8 1
    profile cpu2 "Synthetic CPU" 0.1 20 8 2
}

plugin_stop() {
    rm -rf "$folder"
    slurm_stop
}

# profile NAME DEVICE TFLOPS GB_S MEMORY_GIB [THREADS]
profile() {
    "$source_dir/tests/slurm/synthetic_measurements" "${@:2}" >"$1.jsonl" &&
        dltime train "$1.jsonl" --output "$1.dlp" --method cost 2>/dev/null
}

plugin_setup() {
    cd "$folder" || return
    cat >mlp.json <<'END'
{ "name": "mlp", "input": [784],
  "layers": [ {"op": "dense", "out_features": 4096}, {"op": "relu"},
              {"op": "dense", "out_features": 4096}, {"op": "relu"},
              {"op": "dense", "out_features": 10} ],
  "training": {"samples": 60000, "batch": 512, "optimizer": "sgd"} }
END
    conf
}

# One entry of dltime.conf: site NAME [PROFILE] [SETTINGS]
site() {
    local profile=${2:-$1} device
    case $profile in
    cpu*) device= ;;
    *) device="device = \"Synthetic ${profile^^}\"; " ;;
    esac
    echo "{ name = \"$1\"; profile = \"$folder/$profile.dlp\"; $device${3:-} }"
}

# conf_with SETTINGS ENTRY...: writes dltime.conf. The deadline is longer than a site's, because
# tests share their machine and one runs under valgrind.
conf_with() {
    local settings=$1 deadline="deadline = 20;" separator="" entry
    shift
    [[ $settings != *deadline* ]] || deadline=
    {
        echo "snapshot_age = 0; $deadline $settings"
        echo "partitions = ("
        for entry in "$@"; do
            printf '%s  %s' "$separator" "$entry"
            separator=$',\n'
        done
        printf '\n);\n'
    } >"$(slurm_dltime_conf)"
}

# conf [SETTINGS]: with the five partitions.
conf() {
    conf_with "$*" "$(site v100 v100 'gpus_per_node = 4;')" "$(site a100 a100 'gpus_per_node = 2;')" \
        "$(site p100 p100 'gpus_per_node = 2;')" "$(site cpu1 cpu1 'cores_per_node = 1;')" \
        "$(site cpu2 cpu2 'cores_per_node = 2;')"
}

v100=(-p v100 --gres=gpu:1)
long=--dl-model=mlp.json,epochs=200
endless=--dl-model=mlp.json,epochs=200000

# submit ARGS...: held, so that nothing runs; sets job and stderr, stdout has to be the id alone.
submit() {
    run --separate-stderr sbatch --parsable --hold "$@" --wrap true
    ((status == 0)) || { echo "$stderr"; return 1; }
    [[ $output =~ ^[0-9]+$ ]] || { echo "stdout: $output"; return 1; }
    job=$output
}

# The same by the command line given, which says --hold itself.
submitted() {
    run --separate-stderr "$@"
    ((status == 0)) || { echo "$stderr"; return 1; }
    job=${output##* }
}

limit() {
    seconds_of "$(job_field "$job" TimeLimit)"
}

# The limit that a partition gives to jobs without --time: MaxTime, seven days.
unchanged() {
    [[ $(job_field "$job" TimeLimit) == 7-00:00:00 ]]
}

changed() {
    [[ $(job_field "$job" TimeLimit) != 7-00:00:00 ]]
}

# Both: what stderr says was set is what scontrol shows.
set_as_said() {
    [[ $stderr =~ "time limit set to "([0-9:-]+) ]] || { echo "$stderr"; return 1; }
    [[ $(limit) == "$(seconds_of "${BASH_REMATCH[1]}")" ]]
}

# warned_once TEXT: in one line of stderr, which is the only one of the plugin's.
warned_once() {
    [[ $(grep -c '^dltime: ' <<<"$stderr") == 1 ]] && [[ $stderr == *"dltime: warning: "*"$1"* ]]
}

# in_partition NAME: where the job went; what was said is shown where it is another.
in_partition() {
    local partition
    partition=$(job_field "$job" Partition)
    [[ $partition == "$1" ]] || { echo "in $partition: $stderr"; return 1; }
}

# says TEXT: on stderr, shown where it is not.
says() {
    [[ $stderr == *"$1"* ]] || { echo "$stderr"; return 1; }
}

warns() {
    grep -F -- "$1" <<<"$stderr" | grep -q '^dltime: warning: ' || { echo "$stderr"; return 1; }
}

# As somebody else than root: other CMD...
other() {
    setpriv --reuid=65534 --regid=65534 --clear-groups env -u XDG_RUNTIME_DIR "$@"
}

need_root() {
    ((EUID == 0)) || skip "needs root"
}

# Lines added to slurm.conf, which the controller reads again; slurm_reset takes them away.
slurm_add() {
    local file=$SLURM_DEV_ROOT/etc/slurm.conf
    [[ -e $file.kept ]] || cp "$file" "$file.kept"
    printf '%s\n' "$@" >>"$file"
    scontrol reconfigure
}

slurm_reset() {
    local file=$SLURM_DEV_ROOT/etc/slurm.conf
    [[ ! -e $file.kept ]] || { mv "$file.kept" "$file" && scontrol reconfigure; }
}
