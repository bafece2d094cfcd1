#!/usr/bin/env bats
# dltime report: one HTML page, and what keeps it honest and harmless.

bats_require_minimum_version 1.5.0

setup_file() {
    BUILD="${BUILD:-$BATS_TEST_DIRNAME/../../build}"
    cd "$BATS_FILE_TMPDIR" || return
    # 130 rows to learn from and 130 others, of a device with a name that wants to be markup.
    awk -v n=80 -f "$BATS_TEST_DIRNAME/../rows.awk" |
        sed -e '1s|Made up|Paper <b>\&amp;\\"1\\"</b>|' \
            -e '1s|}}$|},"source":"<script>alert(1)</script>"}|' >all.jsonl
    awk 'NR == 1 || NR % 2 == 0' all.jsonl >train.jsonl
    awk 'NR % 2' all.jsonl >new.jsonl
    SOURCE_DATE_EPOCH=1700000000 "$BUILD/dltime" train train.jsonl --output paper.dlp 2>/dev/null
}

setup() {
    BUILD="${BUILD:-$BATS_TEST_DIRNAME/../../build}"
    dltime=$(readlink -f "$BUILD")/dltime
    cd "$BATS_TEST_TMPDIR" || return
    cp "$BATS_FILE_TMPDIR"/*.jsonl "$BATS_FILE_TMPDIR"/paper.dlp .
    export SOURCE_DATE_EPOCH=1764500000 TMPDIR=$PWD/temporary
    mkdir "$TMPDIR"
}

# needs_gnuplot: what draws the plots.
needs_gnuplot() {
    command -v gnuplot >/dev/null || skip "no gnuplot; scripts/setup installs it"
}

# page_is_sound FILE: no script, nothing fetched, no identifier twice, every tag closed in order;
# prints how many plots there are.
page_is_sound() {
    tr '\n' ' ' <"$1" | grep -oE '</?[a-zA-Z][^>]*>' | awk '
        { tag = $0; gsub(/^<\/?|[ >\/].*$/, "", tag) }
        tag ~ /^(script|link|img|iframe|object|image|foreignObject)$/ { wrong("has", $0) }
        / on[a-z]*=/ { wrong("has a handler", $0) }
        /(href|src)=/ && !/(href|src)=["\47]#/ { wrong("fetches", $0) }
        match($0, / id=["\47][^"\47]*/) && seen[substr($0, RSTART, RLENGTH)]++ { wrong("twice", $0) }
        tag == "meta" || /\/>$/ { next }
        /^<\// { if (depth == 0 || open[depth--] != tag) wrong("closes", $0); next }
        { open[++depth] = tag; plots += tag == "svg" }
        function wrong(what, where) { print what ": " where >"/dev/stderr"; bad = 1 }
        END { print plots + 0; exit bad || depth != 0 || plots == 0 }'
    ! grep -qE 'url\(|@import' "$1"
}

@test "a page of plots and tables with evaluate's own figures" {
    needs_gnuplot
    run -0 --separate-stderr "$dltime" report --profile paper.dlp new.jsonl --output page
    [ -z "$output" ]
    [ "$(ls -A page)" = index.html ]
    [ "$(page_is_sound page/index.html)" -eq 3 ]
    n=$("$dltime" evaluate --profile paper.dlp new.jsonl --json |
        jq -r '"<td class=\"n\">\(.all.n)</td>"')
    grep -qF "$n" page/index.html
    mape=$("$dltime" evaluate --profile paper.dlp new.jsonl --json |
        jq -r '100 * .all.mape' | LC_ALL=C awk '{ printf "%.1f", $1 }')
    grep -qF "<b>$mape&nbsp;%</b><span>mean error (MAPE)</span>" page/index.html
    grep -q "n = 130; by what the predictions rest on: measured 120, " page/index.html
    grep -q "2023-11-14 22:13 UTC by dltime" page/index.html # of the profile
    grep -q "2025-11-30 10:53 UTC by dltime" page/index.html # of the report
    # Whoever reads the page's folder reads the page; nothing is left behind.
    [ -z "$(ls -A "$TMPDIR")" ]
}

@test "what files say is text on the page, never markup, and never reaches gnuplot" {
    needs_gnuplot
    cat >runs.jsonl <<'END'
{"format":"dltime-runs","version":1,"device":{"name":"Paper <b>&amp;\"1\"</b>"}}
{"model":"lenet5","pass":"step","batch":64,"optimizer":"sgd","framework":"none","step_ms":5}
END
    cat >dltime.conf <<'END'
partitions = ( { name = "<i>'`touch owned`"; device = "'; system 'touch owned'; '@0@"; profile = "paper.dlp"; } );
END
    chmod 644 dltime.conf
    mkdir history
    echo '{"format":"dltime-history","version":1,"corrections":[
        {"network":"any","partition":"</svg><script>`touch owned`","factor":1.2,"jobs":9,"users":3},
        {"network":"any","partition":"'"' ; system 'touch owned'"'","factor":0.8,"jobs":9,"users":3}
    ]}' >history/site.json
    run -0 "$dltime" report --profile paper.dlp new.jsonl runs.jsonl --output page \
        --conf dltime.conf --history history
    [ "$(page_is_sound page/index.html)" -eq 6 ]
    grep -qF '<h1>Paper &lt;b&gt;&amp;amp;&quot;1&quot;&lt;/b&gt;</h1>' page/index.html
    grep -qF '&lt;script&gt;alert(1)&lt;/script&gt;' page/index.html
    grep -qF '&lt;/svg&gt;&lt;script&gt;`touch owned`, any' page/index.html
    grep -qF '&lt;i&gt;&#39;`touch owned`' page/index.html
    [ -z "$(find . -name owned)" ]
}

@test "partitions, corrections and a learning curve are drawn where they are asked for" {
    needs_gnuplot
    printf 'profile = "%s/paper.dlp";\npartitions = ( { name = "one"; device = "%s"; gpus_per_node = 2; } );\n' \
        "$PWD" 'Paper <b>&amp;\"1\"</b>' >dltime.conf
    mkdir history
    echo '{"format":"dltime-history","version":1,"corrections":[
        {"network":"00000000000000ff","partition":"one","factor":1.25,"jobs":12345,"users":4}]}' \
        >history/site.json
    run -0 "$dltime" report --profile paper.dlp new.jsonl --output page --conf dltime.conf \
        --history history --curve new.jsonl
    [ "$(page_is_sound page/index.html)" -eq 6 ]
    grep -q 'of its 130 rows, in random order, and scored on the same n = 26 rows' page/index.html
    run ! grep -q 'networks of convolutions begin' page/index.html # of another convention
    # After 50, 100 and all 104 of the others.
    [ "$(grep -cE '<td>conv2d</td><td class="n">[0-9]+</td><td class="n">[0-9.]+ ms' page/index.html)" -eq 3 ]
    grep -q '<td>one</td><td>00000000000000ff</td><td class="n">1.25</td><td class="n">4</td><td class="n">12345</td>' \
        page/index.html
    grep -qE '<td>one</td>.*<td>(cost model|general)</td><td class="n">[0-9.]+ ms</td>' page/index.html
    # The same again gives the same page: it replaces the old one.
    sed 's/It took [0-9]* s//' page/index.html >first
    "$dltime" report --profile paper.dlp new.jsonl --output page --conf dltime.conf \
        --history history --curve new.jsonl
    sed 's/It took [0-9]* s//' page/index.html | cmp - first
}

@test "a learning curve learns as a training does: from networks of other devices" {
    needs_gnuplot
    awk -v n=128 -f "$BATS_TEST_DIRNAME/../rows.awk" |
        sed '1s/events_batched/host_synchronous/' >host.jsonl # as the profile's TensorFlow rows
    head -n 2 new.jsonl >one.jsonl
    "$dltime" report --profile paper.dlp one.jsonl --output page --curve host.jsonl
    grep -q 'networks of convolutions begin from those that general.dlp keeps' page/index.html
}

@test "one row, or rows that cannot be predicted, make a page that says so" {
    needs_gnuplot
    head -n 2 new.jsonl >one.jsonl
    run -0 "$dltime" report --profile paper.dlp one.jsonl --output page
    [ "$(page_is_sound page/index.html)" -eq 3 ]
    sed 's/events_batched/host_synchronous/' new.jsonl >other.jsonl # another timing convention
    run -0 "$dltime" report --profile paper.dlp other.jsonl --output page
    grep -q 'None of these rows could be predicted' page/index.html
    grep -q '<b>130</b><span>could not be predicted</span>' page/index.html
}

@test "wrong usage and what cannot be read leave no folder behind" {
    run -2 --separate-stderr "$dltime" report new.jsonl --output page
    [[ $stderr == *"say which profile"* ]]
    run -2 --separate-stderr "$dltime" report --profile paper.dlp --output page
    [[ $stderr == *"at least one file"* ]]
    run -2 --separate-stderr "$dltime" report --profile paper.dlp new.jsonl
    [[ $stderr == *"--output DIR"* ]]
    run -2 "$dltime" report --profile paper.dlp new.jsonl --output page --frobnicate
    run -0 "$dltime" report --help
    [[ $output == *"--curve FILE"* ]]
    needs_gnuplot
    run -1 --separate-stderr "$dltime" report --profile missing.dlp new.jsonl --output page
    [[ $stderr == *"missing.dlp"* ]]
    run -1 --separate-stderr "$dltime" report --profile paper.dlp missing.jsonl --output page
    [[ $stderr == *"missing.jsonl: No such file"* ]]
    run -1 --separate-stderr "$dltime" report --profile paper.dlp new.jsonl --output page \
        --history nowhere
    [[ $stderr == *"nowhere/site.json: No such file"* ]]
    run -1 --separate-stderr "$dltime" report --profile paper.dlp new.jsonl --output page \
        --conf nowhere.conf
    [[ $stderr == *"nowhere.conf"* ]]
    head -n 20 new.jsonl >few.jsonl
    run -1 --separate-stderr "$dltime" report --profile paper.dlp new.jsonl --output page \
        --curve few.jsonl
    [[ $stderr == *"few.jsonl: a learning curve needs at least 100 measurements"* ]]
    head -n 1 new.jsonl >none.jsonl
    run -1 --separate-stderr "$dltime" report --profile paper.dlp none.jsonl --output page
    [[ $stderr == *"none.jsonl: holds no rows to score"* ]]
    run -1 --separate-stderr "$dltime" report --profile paper.dlp new.jsonl --output paper.dlp
    [[ $stderr == *"paper.dlp: cannot be made: Not a directory"* ]]
    [ ! -e page ]
    [ -z "$(ls -A "$TMPDIR")" ]
}

@test "without gnuplot one sentence says what to install, and nothing is written" {
    mkdir empty
    run -1 --separate-stderr env PATH="$PWD/empty" "$dltime" report --profile paper.dlp \
        new.jsonl --output page
    [[ $stderr == "dltime report: gnuplot: cannot be run: "*"install it (Debian: gnuplot-nox"* ]]
    [ ! -e page ]
}

@test "a gnuplot that fails is quoted; an old page stays as it is" {
    mkdir bin page
    printf '#!/bin/sh\n[ "$2" = --version ] || { echo "script line 3: out of ink"; exit 1; }\n' \
        >bin/gnuplot
    chmod +x bin/gnuplot
    echo old >page/index.html
    run -1 --separate-stderr env PATH="$PWD/bin:$PATH" "$dltime" report --profile paper.dlp \
        new.jsonl --output page
    [[ $stderr == *"gnuplot: script line 3: out of ink"* ]]
    [ "$(cat page/index.html)" = old ]
    [ "$(ls -A page)" = index.html ]
    [ -z "$(ls -A "$TMPDIR")" ]
}

@test "the page does not depend on the locale" {
    needs_gnuplot
    LC_ALL=C "$dltime" report --profile paper.dlp new.jsonl --output one
    LC_ALL=de_DE.UTF-8 "$dltime" report --profile paper.dlp new.jsonl --output two
    cmp one/index.html two/index.html
}

@test "a browser renders it" {
    needs_gnuplot
    browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
        skip "no Chromium"
    "$dltime" report --profile paper.dlp new.jsonl --output page
    shot() { # FILE OPTION...
        local file=$1
        shift
        HOME=$PWD timeout 60 "$browser" --headless=new --no-sandbox --disable-gpu \
            --hide-scrollbars --user-data-dir="$PWD/chromium" --window-size=1100,1600 "$@" \
            --screenshot="$PWD/$file" "file://$PWD/page/index.html" 2>shot.log
    }
    shot page.png
    # A blank page of this size is a PNG of a few kB; this one has points, axes and tables.
    [ "$(head -c 8 page.png | od -An -tx1 | tr -d ' ')" = 89504e470d0a1a0a ]
    [ "$(od -An -tx1 -j16 -N8 page.png | tr -d ' ')" = 0000044c00000640 ]
    [ "$(stat -c %s page.png)" -gt 60000 ]
    # What the browser made of it: plots of their full width, with points in them.
    HOME=$PWD timeout 60 "$browser" --headless=new --no-sandbox --disable-gpu \
        --user-data-dir="$PWD/chromium" --dump-dom "file://$PWD/page/index.html" >dom.html 2>shot.log
    [ "$(grep -o '<svg' dom.html | wc -l)" -eq 3 ]
    [ "$(grep -c "<use" dom.html)" -gt 130 ]
}
