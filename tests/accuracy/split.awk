# split.awk - keeps a random fifth of a measurements file apart: each row by a hash of its own text
# and the seed, so that the split depends on neither the order of the rows nor the machine.
#   awk -v seed=1 -v kept=OUT1 -v apart=OUT2 -f split.awk FILE
function hash(text,    h, i) {
    h = seed + 17
    for (i = 1; i <= length(text); i++)
        h = (h * 31 + code[substr(text, i, 1)]) % 2147483647
    for (i = 0; i < 4; i++)
        h = (h * 48271) % 2147483647
    return h
}
BEGIN { for (i = 1; i < 128; i++) code[sprintf("%c", i)] = i }
NR == 1 { print > kept; print > apart; next }
{ print > (hash($0) % 5 == 0 ? apart : kept) }
