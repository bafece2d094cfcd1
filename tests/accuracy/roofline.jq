# roofline.jq - root mean square error, ms, of a roofline (Williams et al. 2009) on a file of
# convolutions or fully connected layers: each product of a layer takes the longer of its arithmetic
# over the data sheet's peak and its bytes over the bandwidth; a step has three products and the
# optimizer's accesses to weights and input, both of which Justus et al. update. Nothing is learned.
#   jq -n -f roofline.jq FILE.jsonl
def touches: {none: 0, sgd: 3, momentum: 5, adagrad: 5, adam: 7, rmsprop: 7, adadelta: 9};

def outputs($axis):
    (if .padding == "same" then .in_size[$axis] else .in_size[$axis] - .kernel[$axis] + 1 end)
    / .stride[$axis] | ceil;

# Elements of the layer's tensors and the multiply-accumulates of one product.
def layer:
    if .op == "dense" then
        {input: (.batch * .in_features), output: (.batch * .out_features),
         weights: (.in_features * .out_features), macs: (.batch * .in_features * .out_features)}
    else
        (.batch * outputs(0) * outputs(1)) as $pixels
        | (.in_channels * .kernel[0] * .kernel[1]) as $taps
        | {input: (.batch * .in_channels * .in_size[0] * .in_size[1]),
           output: ($pixels * .out_channels), weights: ($taps * .out_channels),
           macs: ($pixels * $taps * .out_channels)}
    end;

input.device as $device
| reduce inputs as $row ({n: 0, sum: 0};
    ($row | layer) as $l
    | ([2e-6 * $l.macs / $device.peak_fp32_gflops,
        4e-6 * ($l.input + $l.output + $l.weights) / $device.memory_bandwidth_gbs] | max) as $product
    | (4e-6 * touches[$row.optimizer] * ($l.input + $l.weights)
        / $device.memory_bandwidth_gbs) as $update
    | (if $row.pass == "forward" then $product else 3 * $product + $update end) as $ms
    | .n += 1 | .sum += ($ms - $row.median_ms) * ($ms - $row.median_ms))
| .sum / .n | sqrt
