# SPDX-License-Identifier: Apache-2.0
"""ConvNeXt, Vision Transformers, and networks that make or find something in images."""

from models.residual import vgg_trunk
from models.spec import block, conv, conv_norm, dense, image, layer, stage, write


def permute(*dims, **rest):
    return layer("permute", rest.pop("name", None), rest.pop("inputs", None), dims=list(dims))


def norm_of_channels(name=None):
    """LayerNorm over the channels of N x C x H x W."""
    return [permute(0, 2, 3, 1), layer("layer_norm"), permute(0, 3, 1, 2, name=name)]


def convnext(depths, widths):
    def unit(width, drop):
        made = [
            conv(width, 7, padding=3, groups=width, bias=True),
            permute(0, 2, 3, 1),
            layer("layer_norm"),
            dense(4 * width),
            layer("gelu"),
            dense(width),
            permute(0, 3, 1, 2, name="main"),
            layer("parameter", "layer_scale", shape=[width, 1, 1]),
            layer("mul", inputs=["layer_scale", "main"]),
        ]
        return made + [layer("scale")] * drop + [layer("add", inputs=["@", "@input"])]

    made = [conv(widths[0], 4, 4, bias=True)] + norm_of_channels()
    for i, (depth, width) in enumerate(zip(depths, widths)):
        if i > 0:
            made += norm_of_channels() + [conv(width, 2, 2, bias=True)]
        made += stage("stage%d" % (i + 1), [unit(width, i + k > 0) for k in range(depth)])
    made += [layer("adaptive_avg_pool2d", output_size=1)] + norm_of_channels()
    return made + [layer("flatten"), dense(1000, name="fc")]


def vit(width, depth, heads, inner, patch):
    side = 224 // patch
    unit = [
        layer("layer_norm"),
        layer(
            "multi_head_attention",
            "attention",
            embed_dim=width,
            num_heads=heads,
            batch_first=True,
            need_weights=False,
        ),
        layer("add", "attended", inputs=["@", "@input"]),
        layer("layer_norm"),
        dense(inner),
        layer("gelu"),
        dense(width),
        layer("add", inputs=["@", "attended"]),
    ]
    return [
        conv(width, patch, patch, bias=True, name="patches"),
        layer("reshape", shape=[0, width, side * side]),
        permute(0, 2, 1, name="tokens"),
        layer("parameter", "class_token", shape=[1, 1, width]),
        layer("expand", "class", shape=[0, -1, -1], inputs=["class_token", "tokens"]),
        layer("concat", "sequence", inputs=["class", "tokens"]),
        layer("parameter", "positions", shape=[1, side * side + 1, width]),
        layer("add", inputs=["sequence", "positions"]),
        block(unit, "encoder", depth),
        layer("layer_norm"),
        layer("slice", dim=1, end=1),
        layer("squeeze", dim=1),
        dense(1000, name="fc"),
    ]


WINDOW = 7


def windows(width, heads, side, shift):
    """Attention inside windows of 7 x 7, torchvision's shifted_window_attention."""
    count, tokens, size = side // WINDOW, WINDOW * WINDOW, width // heads
    made = [layer("roll", shifts=[-shift, -shift], dims=[1, 2])] if shift else []
    made += [
        layer("reshape", shape=[0, count, WINDOW, count, WINDOW, width]),
        permute(0, 1, 3, 2, 4, 5),
        layer("contiguous"),
        layer("reshape", shape=[-1, tokens, width]),
        dense(3 * width),
        layer("reshape", shape=[0, tokens, 3, heads, size]),
        permute(2, 0, 3, 1, 4),
        layer("split", "qkv", sections=3, dim=0),
        layer("squeeze", "query", inputs="qkv:0", dim=0),
        layer("squeeze", inputs="qkv:1", dim=0),
        layer("contiguous", "key"),
        layer("squeeze", inputs="qkv:2", dim=0),
        layer("contiguous", "value"),
        layer("scale", "scaled", inputs="query"),
        layer("transpose", "keys", inputs="key", dim0=-2, dim1=-1),
        layer("matmul", "scores", inputs=["scaled", "keys"]),
        layer("arange", "index", end=tokens * tokens),
        layer("embedding", num_embeddings=(2 * WINDOW - 1) ** 2, embedding_dim=heads),
        layer("reshape", shape=[tokens, tokens, heads]),
        permute(2, 0, 1),
        layer("contiguous", "bias"),
        layer("add", inputs=["scores", "bias"]),
    ]
    if shift:
        made.append(layer("scale", "mask"))
    made += [
        layer("softmax"),
        layer("matmul", inputs=["@", "value"]),
        layer("transpose", dim0=1, dim1=2),
        layer("contiguous"),
        layer("reshape", shape=[-1, tokens, width]),
        dense(width),
        layer("reshape", shape=[-1, count, count, WINDOW, WINDOW, width]),
        permute(0, 1, 3, 2, 4, 5),
        layer("contiguous"),
        layer("reshape", shape=[-1, side, side, width]),
    ]
    return made + ([layer("roll", shifts=[shift, shift], dims=[1, 2])] if shift else [])


def swin(width, depths, heads):
    def unit(side, features, head, shift, drop):
        made = [layer("layer_norm")] + windows(features, head, side, shift)
        made += [layer("scale")] * drop
        made += [layer("add", "attended", inputs=["@", "@input"]), layer("layer_norm")]
        made += [dense(4 * features), layer("gelu"), dense(features)] + [layer("scale")] * drop
        return made + [layer("add", inputs=["@", "attended"])]

    def merge(features):
        made = [
            layer("slice", "rows%d" % i, inputs="@input", dim=1, start=i, step=2) for i in (0, 1)
        ]
        for column in (0, 1):
            for row in (0, 1):
                name = "part%d%d" % (row, column)
                rows = "rows%d" % row
                made.append(layer("slice", name, inputs=rows, dim=2, start=column, step=2))
        made.append(layer("concat", inputs=["part00", "part10", "part01", "part11"], dim=-1))
        return block(made + [layer("layer_norm"), dense(2 * features, bias=False)])

    made = [conv(width, 4, 4, bias=True), permute(0, 2, 3, 1), layer("layer_norm")]
    side = 56
    for i, (depth, head) in enumerate(zip(depths, heads)):
        features = width << i
        if i > 0:
            made.append(merge(features // 2))
            side //= 2
        for k in range(depth):
            shift = WINDOW // 2 if k % 2 and side > WINDOW else 0
            made.append(block(unit(side, features, head, shift, i + k > 0)))
    made += [layer("layer_norm"), permute(0, 3, 1, 2)]
    made += [layer("adaptive_avg_pool2d", output_size=1), layer("flatten")]
    return made + [dense(1000, name="fc")]


def unet():
    """Widths 64 to 1024; "same" padding and batch_norm, as it is usually built today."""
    made = []
    for i in range(5):
        if i > 0:
            made.append(layer("max_pool2d", kernel_size=2))
        made += conv_norm(64 << i, 3) + conv_norm(64 << i, 3, name="down%d" % (i + 1))
    for i in (3, 2, 1, 0):
        up = layer("conv_transpose2d", out_channels=64 << i, kernel_size=2, stride=2)
        made += [up, layer("concat", inputs=["down%d" % (i + 1), "@"])]
        made += conv_norm(64 << i, 3) + conv_norm(64 << i, 3)
    return made + [conv(2, 1, bias=True)]


def dcgan():
    """Generator and discriminator in a row, 64 x 64."""
    generator = []
    for i, width in enumerate((512, 256, 128, 64)):
        stride, padding = (1, 0) if i == 0 else (2, 1)
        generator.append(conv(width, 4, stride, padding, op="conv_transpose2d"))
        generator += [layer("batch_norm"), layer("relu")]
    generator += [conv(3, 4, 2, 1, op="conv_transpose2d"), layer("tanh")]
    discriminator = [conv(64, 4, 2, 1), layer("leaky_relu", negative_slope=0.2)]
    for width in (128, 256, 512):
        discriminator += [conv(width, 4, 2, 1), layer("batch_norm")]
        discriminator.append(layer("leaky_relu", negative_slope=0.2))
    discriminator += [conv(1, 4), layer("sigmoid")]
    return [block(generator, "generator"), block(discriminator, "discriminator")]


def ssd300():
    trunk = vgg_trunk((2, 2, 3, 3, 3))
    pools = [i for i, each in enumerate(trunk) if each["op"] == "max_pool2d"]
    trunk[pools[2]] = dict(trunk[pools[2]], ceil_mode=True)
    trunk[pools[3] - 1] = layer("relu", "conv4_3")
    trunk[pools[4]] = layer("max_pool2d", kernel_size=3, stride=1, padding=1)
    made = trunk + [
        conv(1024, 3, padding=6, dilation=6, bias=True, name="fc6"),
        layer("relu"),
        conv(1024, 1, bias=True, name="fc7"),
        layer("relu", "fc7_out"),
    ]
    for i, (inner, out, stride, padding) in enumerate(
        ((256, 512, 2, 1), (128, 256, 2, 1), (128, 256, 1, 0), (128, 256, 1, 0))
    ):
        made += [conv(inner, 1, bias=True), layer("relu")]
        made += [conv(out, 3, stride, padding, bias=True), layer("relu", "extra%d" % (i + 1))]
    made += [
        layer("norm", "length", inputs="conv4_3", dim=1, keepdim=True),
        layer("div", "normal", inputs=["conv4_3", "length"]),
        layer("parameter", "scale_weight", shape=[512, 1, 1]),
        layer("mul", "conv4_3_norm", inputs=["scale_weight", "normal"]),
    ]
    sources = ["conv4_3_norm", "fc7_out"] + ["extra%d" % i for i in (1, 2, 3, 4)]
    for kind, columns in (("class", 91), ("box", 4)):
        ends = []
        for i, (source, anchors) in enumerate(zip(sources, (4, 6, 6, 6, 4, 4))):
            name = "%s%d" % (kind, i + 1)
            made += [
                conv(anchors * columns, 3, padding=1, bias=True, name=name, inputs=source),
                permute(0, 2, 3, 1),
                layer("reshape", name + "_rows", shape=[0, -1, columns]),
            ]
            ends.append(name + "_rows")
        made.append(layer("concat", kind, inputs=ends))
    return made


def write_all(folder):
    note = "Liu et al. 2022 (arXiv 2201.03545), as in torchvision"
    for name, depths, first in (
        ("tiny", (3, 3, 9, 3), 96),
        ("small", (3, 3, 27, 3), 96),
        ("base", (3, 3, 27, 3), 128),
    ):
        made = convnext(depths, [first << i for i in range(4)])
        image(folder, "convnext_" + name, note, made, optimizer="adamw")
    note = "Dosovitskiy et al. 2020 (arXiv 2010.11929), as in torchvision; fused attention"
    image(folder, "vit_b_16", note, vit(768, 12, 12, 3072, 16), optimizer="adamw")
    image(folder, "vit_l_16", note, vit(1024, 24, 16, 4096, 16), batch=64, optimizer="adamw")
    note = "Liu et al. 2021 (arXiv 2103.14030), as in torchvision"
    image(folder, "swin_t", note, swin(96, (2, 2, 6, 2), (3, 6, 12, 24)), optimizer="adamw")
    note = "Ronneberger et al. 2015 (arXiv 1505.04597), padded and with batch_norm; two classes"
    training = {"batch": 8, "optimizer": "adam"}
    write(folder, "unet", note, [3, 256, 256], unet(), training)
    note = "Radford et al. 2015 (arXiv 1511.06434), the sizes of PyTorch's example; one network of both"
    write(folder, "dcgan", note, [100, 1, 1], dcgan(), {"batch": 128, "optimizer": "adam"})
    note = "Liu et al. 2015 (arXiv 1512.02325) on VGG-16, as in torchvision; without the choice of boxes"
    training = {"samples": 117266, "batch": 32, "optimizer": "momentum"}
    write(folder, "ssd300", note, [3, 300, 300], ssd300(), training)
