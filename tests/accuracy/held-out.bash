# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: Apache-2.0
#
# held-out.bash - published runs beside what profiles say that did not see them: for limits and
# recommend, which set dltime, data, profiles and work.
#
# Rows are tab-separated: device, SPEC, pass, seconds seen, seconds predicted, the limit of 99 %, what it
# rests on.

# Runs of $work/apart.jsonl, by $work/steps.dlp.
held_out_rows() {
    local device pass seen spec
    sed 1d "$work/apart.jsonl" | jq -r '
        (if .pass == "forward" then .forward_ms elif .step_ms then .step_ms
         else 1000 * .batch * .devices / .throughput end) as $seen | select($seen) |
        [.device // .card, .pass, $seen / 1000, .model + ",batch=\(.batch),precision=\(.precision)" +
         (if .sequence then ",seq=\(.sequence)" else "" end) +
         (if .optimizer then ",optimizer=\(.optimizer)" else ",optimizer=adam" end) +
         ",framework=" + (.framework | split(" ")[0])] | @tsv' >"$work/asked"
    while IFS=$'\t' read -r device pass seen spec; do
        "$dltime" predict "$spec" --profile "$work/steps.dlp" --device "$device" --pass "$pass" \
            --quantile 0.99 --json 2>>"$work/log" |
            jq -r --argjson seen "$seen" --arg device "$device" --arg spec "$spec" \
                --arg pass "$pass" '[$device, $spec, $pass, $seen, .step_ms / 1000,
                                     .quantiles["0.99"], .basis] | @tsv'
    done <"$work/asked"
}

# Forward passes of Lee et al. 2025 on a card whose operators were measured, each network left out of
# what the steps are learned from in turn.
held_out_networks() { # CARD
    local base network
    base=$profiles/$(tr 'A-Z ' 'a-z-' <<<"$1").pytorch.dlp
    sed -f "$here/neusight.sed" "$data/neusight2025/runs.jsonl" |
        awk -v card="\"$1\"" 'NR == 1 || index($0, card) && !/"pass": "step"/' >"$work/card.jsonl"
    for network in $(sed 1d "$work/card.jsonl" | jq -r .model | sort -u); do
        grep -v "\"model\": \"$network\"" "$work/card.jsonl" >"$work/kept.jsonl"
        awk -v network="\"$network\"" 'NR == 1 || index($0, network)' "$work/card.jsonl" \
            >"$work/apart.jsonl"
        "$dltime" train "$work/kept.jsonl" --base "$base" --output "$work/steps.dlp" 2>>"$work/log"
        held_out_rows
    done
}

# Trainings of Lambda's public benchmark on one GPU, networks by their names here.
lambda_runs() {
    jq -c 'if .format then . else ({resnet50: "resnet50", ssd: "ssd300",
            bert_base_squad: "bert_base,seq=384", bert_large_squad: "bert_large,seq=384",
            ncf: "ncf"}[.model]) as $spec
        | select($spec and .devices == 1 and (.suspect | not)) | .model = $spec end' \
        "$data/lambda/runs.jsonl"
}

# Its rows on a card that was left out of what the steps are learned from; operators by the general
# profile.
held_out_card() { # CARD
    sed -f "$here/neusight.sed" "$data/neusight2025/runs.jsonl" >"$work/neusight.jsonl"
    lambda_runs | grep -v "\"card\":\"$1\"" >"$work/kept.jsonl"
    lambda_runs | awk -v card="\"card\":\"$1\"" 'NR == 1 || index($0, card)' >"$work/apart.jsonl"
    "$dltime" train "$work/kept.jsonl" "$work/neusight.jsonl" --base "$profiles/general.dlp" \
        --output "$work/steps.dlp" 2>>"$work/log"
    held_out_rows
}
