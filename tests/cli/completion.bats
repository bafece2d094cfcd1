#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Completion in bash: what is offered at the end of a command line. A "|" ends the word that bash has
# cut it to.

# shellcheck disable=SC2030,SC2031 # each test has its own $START

bats_require_minimum_version 1.5.0

setup_file() {
    source_dir=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    BUILD=$(readlink -f "${BUILD:-$source_dir/build}")
    mkdir "$BATS_FILE_TMPDIR/bin"
    ln -s "$source_dir/scripts/site" "$BATS_FILE_TMPDIR/bin/dltime-site"
    PATH=$BATS_FILE_TMPDIR/bin:$BUILD:$PATH
    export source_dir BUILD PATH
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
}

# offers LINE: in a shell of its own, after $start, what the completion function of its first word
# offers, one a line. The words are cut as bash cuts them.
offers() { # LINE
    run --separate-stderr env -u BASH_ENV LINE="$1" bash --norc -c '
        compopt() { :; }
        eval "$START"
        . "$source_dir/completion/dltime"
        COMP_LINE=$LINE COMP_POINT=${#LINE}
        mapfile -t COMP_WORDS < <(grep -oE "[^ =:]+|[=:]+" <<<"$LINE")
        [[ $LINE != *" " ]] || COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        function=$(complete -p "${COMP_WORDS[0]##*/}" | sed "s/.* -F \([^ ]*\) .*/\1/")
        "$function" "${COMP_WORDS[0]}" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf "%s\n" "${COMPREPLY[@]}"'
    [[ $stderr == "" ]] || { echo "$stderr" && return 1; }
}

exactly() { # WORD...
    diff <(printf '%s\n' "$@" | sort) <(sort <<<"$output")
}

@test "sbatch, salloc and srun: --dl-model= offers the shipped networks, and files" {
    touch resnet_mine.json resnet.onnx resnet.txt
    mkdir resnets
    offers "sbatch -p v100 --dl-model=resnet"
    exactly resnet8 resnet18 resnet34 resnet50 resnet101 resnet152 resnet_mine.json resnet.onnx resnets/
    offers "srun --dl-model=./res"
    exactly ./resnet_mine.json ./resnet.onnx ./resnets/
    offers "salloc --dl-model="
    for file in "$source_dir"/etc/models/*.json; do
        grep -qx "$(basename "$file" .json)" <<<"$output"
    done
}

@test "a file's name is offered as the shell takes it, and not as something to run" {
    touch 'two;words.json' 'run$(id).json'
    mkdir 'a&b'
    offers "sbatch --dl-model=two"
    exactly 'two\;words.json'
    offers "dltime train ru"
    exactly 'run\$\(id\).json'
    offers "dltime train ./a"
    exactly './a\&b/'
}

@test "behind a comma stand the keys that are not given yet, behind = the values that are words" {
    offers "sbatch --dl-model=resnet50,drop"
    exactly resnet50,drop_last=
    offers "sbatch --dl-model=resnet50,epochs=3,ep"
    exactly ""
    offers "sbatch --dl-model=resnet50,batch=8,dr"
    exactly 8,drop_last=
    offers "sbatch --dl-model=resnet50,batch=8,precision=amp"
    exactly amp-float16 amp-bfloat16
    offers "srun --dl-model resnet50,compile="
    exactly true false
    offers "sbatch --dl-model=resnet50,batch="
    exactly ""
}

@test "the keys are those that dltime knows, and each word among their values is taken" {
    dltime models --keys >keys
    [[ $(wc -l <keys) -gt 20 ]]
    diff <(cut -d ' ' -f 1 keys | sort) <(sed -n '/^\.Sh TRAINING/,/^\.Sh ONNX/p' \
        "$source_dir/man/dltime-model.5" | sed -n 's/^\.It Cm //p' | sed 's/ , /\n/g' | sort)
    while read -r key values; do
        for value in $values; do
            dltime check "lenet5,$key=$value" >/dev/null
        done
        [[ -z $values ]] || run -1 dltime check "lenet5,$key=nothing"
    done <keys
}

# shellcheck disable=SC2046 # one argument for each word
@test "--dl-time= and --dl-partition= offer the plugin's words" {
    words() { # MACRO
        sed -n "s/^#define $1 //p" "$source_dir/plugin/advise/words.h" | grep -oE '[a-z:]+'
    }
    offers "sbatch --dl-time="
    exactly $(words DLT_TIME_WORDS)
    offers "sbatch --dl-partition="
    exactly $(words DLT_PARTITION_WORDS)
    offers "sbatch --dl-partition=auto:"
    exactly run cost finish
}

# shellcheck disable=SC2089,SC2090 # bash expands it
@test "the completion that sbatch had before goes on, with dltime's options beside its own" {
    START='own() { COMPREPLY=(--deadline= "$1-$2-$3"); }; complete -o nospace -F own sbatch srun'
    export START
    offers "sbatch --d"
    exactly --deadline= "sbatch---d-sbatch" --dl-model= --dl-time= --dl-partition=
    offers "sbatch -p v"
    exactly --deadline= "sbatch-v--p"
    run bash --norc -c '. "$source_dir/completion/dltime"; complete -p sbatch'
    [[ $output == *"_dltime_slurm sbatch" ]]
    START='complete -W "one two" sbatch'
    run bash --norc -c 'eval "$START"; . "$source_dir/completion/dltime"; complete -p sbatch'
    [[ $output == "complete -W 'one two' sbatch" ]]
}

@test "the completion of an installed Slurm is loaded behind it" {
    local file=/usr/share/bash-completion/bash_completion
    [[ -e $file && -e ${file%/*}/completions/sbatch ]] || skip "no bash-completion for Slurm here"
    START=". $file"
    export START
    offers "sbatch --dea"
    exactly --deadline=
    offers "srun --dl-t"
    exactly --dl-time=
    offers "salloc --dl-time=o"
    exactly off
}

@test "each command and its options are offered, as --help has them" {
    offers "dltime "
    exactly predict advise check train evaluate report learn scaling devices models
    offers "dltime mo"
    exactly models
    offers "dlbench "
    exactly run network verify io info
    offers "dltime-site "
    exactly gather install rollback list
    offers "dltime models --"
    exactly --json --keys --help
    offers "dltime predict lenet5 --qu"
    exactly --quantile
    offers "dlbench run --res"
    exactly --resume
    offers "dltime-site gather --part"
    exactly --partitions
}

@test "values of options, files and networks are offered where they belong" {
    touch one.dlp two.jsonl
    offers "dltime predict alex"
    exactly alexnet
    offers "dltime predict lenet5 --pass "
    exactly forward step
    offers "dltime predict lenet5 --pass=f"
    exactly forward
    offers "dltime predict lenet5 --device tesla_v100-s"
    exactly tesla_v100-sxm2-16gb tesla_v100-sxm2-32gb
    dltime devices tesla_v100-sxm2-16gb | grep -q '^Tesla V100-SXM2-16GB '
    offers "dltime predict lenet5 --device nvidia_titan_x_"
    exactly nvidia_titan_x_pascal
    dltime devices nvidia_titan_x_pascal | grep -q '^NVIDIA TITAN X (Pascal) '
    offers "dltime predict lenet5 --profile o"
    exactly one.dlp
    offers "dltime train tw"
    exactly two.jsonl
    offers "dlbench run --backend one"
    exactly onednn
}

@test "a program that the shell would not find by its name is not run to be asked" {
    for name in dltime dlbench; do
        printf '#!/bin/sh\necho "  mine   an option" && touch ran\n' >$name
        chmod +x $name
    done
    offers "./dltime m"
    exactly ""
    offers "./dlbench run --"
    exactly ""
    [ ! -e ran ]
    offers "$BUILD/dltime mo"
    exactly models
}

# COMP_WORDBREAKS is the user's: npm's completion takes "=" out of it, others take ":".
@test "where bash cuts words elsewhere, what is offered fits what it has cut" {
    export START='COMP_WORDBREAKS=${COMP_WORDBREAKS//=}'
    offers "sbatch --dl-model resnet5"
    exactly resnet50
    offers "sbatch --dl-model=resnet5"
    exactly --dl-model=resnet50
    touch mine.json my@own.json
    offers "sbatch --dl-model=./mi"
    exactly --dl-model=./mine.json
    offers "sbatch --dl-partition=auto:r"
    exactly run
    START='COMP_WORDBREAKS=${COMP_WORDBREAKS//:}'
    offers "sbatch --dl-partition=auto:r"
    exactly auto:run
    offers "sbatch --dl-model=my@o"
    exactly own.json
}
