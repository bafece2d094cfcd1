#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Tags of jobs, and what finished jobs do to the next estimate: a real database.

# shellcheck disable=SC2030,SC2031 # each test has its own job

load plugin

setup_file() {
    local program
    for program in mariadbd slurmdbd; do
        command -v $program >/dev/null || skip "$program is not installed"
    done
    plugin_start --accounting
}
teardown_file() {
    [[ ! ${folder:-} ]] || plugin_stop
}
setup() { plugin_setup; }

tagging() { conf_with "$1" "$(site cpu1)"; }
# What dltime advise says of the run time on cpu1.
run_time() {
    dltime advise "${short#--dl-model=}" --conf "$(slurm_dltime_conf)" -- -p cpu1 |
        awk '/ cpu1 / { for (i = 1; i <= NF; i++) if ($i == "s" && ++n == 2) print $(i - 1) }'
}
short=--dl-model=mlp.json,batch=64,steps=20,setup=1,framework=none

@test "a tag is left where the site opts in, and never over the user's comment" {
    tagging ''
    submit -p cpu1 "$short"
    [[ $(job_field "$job" Comment) != *dltime:* ]]
    tagging 'tag = true;'
    submit -p cpu1 "$short"
    [[ $(job_field "$job" Comment) =~ ^dltime:[A-Za-z0-9_-]{27}$ ]]
    submit -p cpu1 --comment=mine "$short"
    [[ $(job_field "$job" Comment) == mine ]]
}

@test "a finished job corrects the next estimate of its network on its partition" {
    local before after
    tagging "tag = true; set_requires = \"cost model\";"
    before=$(run_time)
    submitted sbatch --parsable --hold -p cpu1 "$short" --wrap 'sleep 9'
    scontrol release "$job"
    [[ $(wait_job "$job") == COMPLETED ]]
    sleep 1
    dltime learn --sacct --since now-1hours --output "$folder/history" >learned 2>&1
    cat learned
    grep -q '1 by their tag' learned
    [[ $(stat -c %a "$folder/history/users/$(id -un).json") == 600 ]]
    jq -e '.corrections | length == 1 and .[0].partition == "cpu1" and .[0].factor > 1.5' \
        "$folder/history/users/$(id -un).json"
    tagging "tag = true; set_requires = \"cost model\"; history = \"$folder/history\";"
    after=$(run_time)
    echo "$before -> $after"
    awk -v before="$before" -v after="$after" 'BEGIN { exit !(after > 1.2 * before) }'
}

@test "a history that strangers may write is not used, and said" {
    mkdir -p "$folder/open"
    echo '{"format":"dltime-history","version":1,"corrections":[]}' >"$folder/open/site.json"
    chmod 666 "$folder/open/site.json"
    tagging "history = \"$folder/open\";"
    submit -p cpu1 "$short"
    says "site.json"
}
