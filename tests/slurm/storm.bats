#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Many submissions at once.

load plugin

setup_file() { plugin_start; }
teardown_file() { plugin_stop; }

# client NUMBER: 25 submissions, every second one with a model; what it did, in a file of its own.
client() {
    local i id model
    for ((i = 0; i < 25; i++)); do
        model=()
        ((i % 2)) || model=("--dl-model=mlp.json,epochs=$((100 + 100 * ($1 % 3)))")
        id=$(sbatch --parsable --hold -p v100 --gres=gpu:1 "${model[@]}" --wrap true 2>"err.$1")
        echo "$id ${model[*]:-none} $(sed -n 's/.*time limit set to \([0-9:-]*\) .*/\1/p' "err.$1")"
    done >"client.$1"
}

@test "500 submissions by 20 clients: none lost, none wrong" {
    local n clients=()
    plugin_setup
    sed -i 's/snapshot_age = 0/snapshot_age = 60/' "$(slurm_dltime_conf)"
    for ((n = 0; n < 20; n++)); do
        client "$n" 3>&- &
        clients+=($!)
    done
    wait "${clients[@]}"
    cat client.* | sort >said
    [[ $(wc -l <said) == 500 ]]
    [[ $(cut -d ' ' -f 1 said | sort -u | wc -l) == 500 ]]
    # What each was told is what the controller has: unchanged, seven days, without a model.
    squeue -h -a -o '%i %l' | sort >has
    [[ $(wc -l <has) == 500 ]]
    join said has >both
    awk '$2 == "none" && $3 != "7-00:00:00" { print; bad = 1 }
         $2 != "none" { split($3, a, ":"); split($4, b, ":")
             said = a[1] * 3600 + a[2] * 60 + a[3]
             has = b[3] == "" ? b[1] * 60 + b[2] : b[1] * 3600 + b[2] * 60 + b[3]
             if (NF != 4 || said != has) { print; bad = 1 } }
         END { exit bad }' both
    # Three lengths of training, three limits.
    [[ $(awk '$2 != "none" { print $2, $3 }' both | sort -u | wc -l) == 3 ]]
}
