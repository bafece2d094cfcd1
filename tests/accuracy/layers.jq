# layers.jq - the convolutions of one network, from `dltime check SPEC --json`: kernel, stride,
# channels in and out, image size in; one a line. Grouped ones and those of the network's input,
# whose kernels these figures do not give, are left out.
(.layers | map({(.name): .output}) | add) as $output
| .layers[]
| select(.op == "conv2d")
| . as $layer
| ($output[.inputs[0] // ""] // empty) as $in
| ($in[1] * .output[1] * .output[2] * .output[3]) as $points
| ($layer.macs / $points | sqrt | round) as $kernel
| select($in[2] == $in[3] and ($kernel * $kernel * $points - $layer.macs | fabs) < 1)
| "\($kernel) \($in[2] / .output[2] | round) \($in[1]) \(.output[1]) \($in[2])"
