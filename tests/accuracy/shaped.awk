# shaped.awk - the convolutions of a measurements file that are shaped like a layer of a network: the
# same kernel and stride, and channels in and out and image size within a factor of two each.
#   awk -f shaped.awk LAYERS FILE     LAYERS: what layers.jq prints
function number(name,    text) {
    if (!match($0, "\"" name "\":\\[?[0-9]+"))
        return 0
    text = substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3)
    sub(/^\[/, "", text)
    return text + 0
}
function near(a, b) { return a <= 2 * b && b <= 2 * a }
NR == FNR {
    if (!seen[$0]++) {
        key = $1 " " $2
        layer[key, ++count[key]] = $3 " " $4 " " $5
    }
    next
}
FNR == 1 { print; next }
{
    key = number("kernel") " " number("stride")
    in_channels = number("in_channels"); out_channels = number("out_channels"); size = number("in_size")
    for (i = 1; i <= count[key]; i++) {
        split(layer[key, i], want, " ")
        if (near(in_channels, want[1]) && near(out_channels, want[2]) && near(size, want[3])) {
            print
            break
        }
    }
}
