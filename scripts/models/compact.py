# SPDX-License-Identifier: Apache-2.0
"""GoogLeNet, Inception and networks for small devices, as torchvision builds them."""

import math

from models.spec import block, classifier, conv, conv_norm, dense, divisible, image, layer, stage


def pool(kernel, stride, padding=0, ceil=False, op="max_pool2d", **rest):
    return layer(
        op,
        rest.pop("name", None),
        rest.pop("inputs", None),
        kernel_size=kernel,
        stride=stride,
        padding=padding or None,
        ceil_mode=ceil or None,
    )


def branches(paths, name):
    """Paths from the block's input, side by side; each is a list of layers. What another path starts
    from (a named end) is not part of the result."""
    made, ends = [], []
    for i, path in enumerate(paths):
        first, last = dict(path[0]), dict(path[-1])
        first.setdefault("inputs", ["@input"])
        end = last.pop("name", "branch%d" % (i + 1))
        last = first if len(path) == 1 else last
        last = layer(last.pop("op"), end, last.pop("inputs", None), **last)
        made += [last] if len(path) == 1 else [first] + path[1:-1] + [last]
        ends.append(end)
    started = [each.get("inputs", [None])[0] for each in made]
    return block(made + [layer("concat", inputs=[e for e in ends if e not in started])], name)


def googlenet():
    def inception(name, one, reduce3, three, reduce5, five, project):
        return branches(
            [
                conv_norm(one, 1),
                conv_norm(reduce3, 1) + conv_norm(three, 3),
                conv_norm(reduce5, 1) + conv_norm(five, 3),
                [pool(3, 1, 1, True)] + conv_norm(project, 1),
            ],
            name,
        )

    made = conv_norm(64, 7, 2) + [pool(3, 2, ceil=True)]
    made += conv_norm(64, 1) + conv_norm(192, 3) + [pool(3, 2, ceil=True)]
    made.append(inception("inception3a", 64, 96, 128, 16, 32, 32))
    made.append(inception("inception3b", 128, 128, 192, 32, 96, 64))
    made.append(pool(3, 2, ceil=True))
    made.append(inception("inception4a", 192, 96, 208, 16, 48, 64))
    made.append(inception("inception4b", 160, 112, 224, 24, 64, 64))
    made.append(inception("inception4c", 128, 128, 256, 24, 64, 64))
    made.append(inception("inception4d", 112, 144, 288, 32, 64, 64))
    made.append(inception("inception4e", 256, 160, 320, 32, 128, 128))
    made.append(pool(2, 2, ceil=True))
    made.append(inception("inception5a", 256, 160, 320, 32, 128, 128))
    made.append(inception("inception5b", 384, 192, 384, 48, 128, 128))
    return made + classifier(dropout=0.2)


def wide(out, height, width, **rest):
    """conv_norm with a window of height x width that keeps the size."""
    made = conv(out, [height, width], 1, [height // 2, width // 2], **rest)
    return [made, layer("batch_norm"), layer("relu")]


def average():
    return pool(3, 1, 1, op="avg_pool2d")


def inception_a(name, project):
    return branches(
        [
            conv_norm(64, 1),
            conv_norm(48, 1) + conv_norm(64, 5),
            conv_norm(64, 1) + conv_norm(96, 3) + conv_norm(96, 3),
            [average()] + conv_norm(project, 1),
        ],
        name,
    )


def inception_c(name, inner):
    return branches(
        [
            conv_norm(192, 1),
            conv_norm(inner, 1) + wide(inner, 1, 7) + wide(192, 7, 1),
            conv_norm(inner, 1)
            + wide(inner, 7, 1)
            + wide(inner, 1, 7)
            + wide(inner, 7, 1)
            + wide(192, 1, 7),
            [average()] + conv_norm(192, 1),
        ],
        name,
    )


def inception_e(name):
    return branches(
        [
            conv_norm(320, 1),
            conv_norm(384, 1, name="three"),
            wide(384, 1, 3, inputs="three"),
            wide(384, 3, 1, inputs="three"),
            conv_norm(448, 1) + conv_norm(384, 3, name="double"),
            wide(384, 1, 3, inputs="double"),
            wide(384, 3, 1, inputs="double"),
            [average()] + conv_norm(192, 1),
        ],
        name,
    )


def inception_v3():
    made = conv_norm(32, 3, 2, 0) + conv_norm(32, 3, 1, 0) + conv_norm(64, 3) + [pool(3, 2)]
    made += conv_norm(80, 1) + conv_norm(192, 3, 1, 0) + [pool(3, 2)]
    made += [inception_a("mixed_5b", 32), inception_a("mixed_5c", 64), inception_a("mixed_5d", 64)]
    double = conv_norm(64, 1) + conv_norm(96, 3) + conv_norm(96, 3, 2, 0)
    made.append(branches([conv_norm(384, 3, 2, 0), double, [pool(3, 2)]], "mixed_6a"))
    for name, inner in (("b", 128), ("c", 160), ("d", 160), ("e", 192)):
        made.append(inception_c("mixed_6" + name, inner))
    seven = conv_norm(192, 1) + wide(192, 1, 7) + wide(192, 7, 1) + conv_norm(192, 3, 2, 0)
    three = conv_norm(192, 1) + conv_norm(320, 3, 2, 0)
    made.append(branches([three, seven, [pool(3, 2)]], "mixed_7a"))
    made += [inception_e("mixed_7b"), inception_e("mixed_7c")]
    return made + classifier(dropout=0.5)


def squeezenet(first, plan):
    made = [conv(*first, bias=True), layer("relu")]
    for item in plan:
        if item == "pool":
            made.append(pool(3, 2, ceil=True))
            continue
        squeeze, expand = item
        made.append(
            block(
                [
                    conv(squeeze, 1, bias=True),
                    layer("relu", "squeezed"),
                    conv(expand, 1, bias=True),
                    layer("relu", "one"),
                    conv(expand, 3, padding=1, bias=True, inputs="squeezed"),
                    layer("relu", "three"),
                    layer("concat", inputs=["one", "three"]),
                ],
                "fire%d" % len(made),
            )
        )
    made += [layer("dropout", p=0.5), conv(1000, 1, bias=True), layer("relu")]
    return made + [layer("adaptive_avg_pool2d", output_size=1), layer("flatten")]


def depthwise(channels, kernel, stride, act, **rest):
    return conv_norm(channels, kernel, stride, act=act, groups=channels, **rest)


def shufflenet(widths):
    def unit(before, width, stride):
        half = width // 2
        two = conv_norm(half, 1) + depthwise(half, 3, stride, None) + conv_norm(half, 1)
        two[-1] = layer("relu", "two")
        if stride == 1:
            made = [layer("split", "halves", sections=2)]
            two[0] = dict(two[0], inputs=["halves:1"])
            made += two + [layer("concat", inputs=["halves:0", "two"])]
        else:
            made = depthwise(before, 3, 2, None) + conv_norm(half, 1, name="one")
            two[0] = dict(two[0], inputs=["@input"])
            made += two + [layer("concat", inputs=["one", "two"])]
        return made + [layer("channel_shuffle", groups=2)]

    made, before = conv_norm(24, 3, 2) + [pool(3, 2, 1)], 24
    for i, (width, depth) in enumerate(zip(widths, (4, 8, 4))):
        blocks = [unit(before, width, 2)] + [unit(width, width, 1)] * (depth - 1)
        made += stage("stage%d" % (i + 2), blocks)
        before = width
    made += conv_norm(widths[3], 1)
    return made + [layer("mean", dim=[2, 3]), dense(1000, name="fc")]


def squeeze_excite(inner, channels, inputs, act, gate):
    return [
        layer("adaptive_avg_pool2d", output_size=1, inputs=inputs),
        conv(inner, 1, bias=True),
        layer(act),
        conv(channels, 1, bias=True),
        layer(gate),
        layer("mul", inputs=[inputs, "@"]),
    ]


def inverted(before, expand, width, kernel, stride, act, excite=None, drop=False):
    """1 x 1 up, depthwise, squeeze and excite (inner width, activation, gate), 1 x 1 down; the input
    is added where shape allows, by `drop` after a factor that leaves whole samples out."""
    made = conv_norm(expand, 1, act=act) if expand != before else []
    made += depthwise(expand, kernel, stride, act)
    if excite:
        made[-1] = layer(act, "depthwise")
        made += squeeze_excite(excite[0], expand, "depthwise", excite[1], excite[2])
    made += conv_norm(width, 1, act=None)
    if stride == 1 and before == width:
        if drop:
            made.append(layer("scale"))
        made.append(layer("add", inputs=["@", "@input"]))
    return made


def mobilenet_v2():
    made, before = conv_norm(32, 3, 2, act="relu6"), 32
    plan = (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1)
    for i, (factor, width, depth, stride) in enumerate(plan + ((6, 160, 3, 2), (6, 320, 1, 1))):
        blocks = [inverted(before, before * factor, width, 3, stride, "relu6")]
        blocks += [inverted(width, width * factor, width, 3, 1, "relu6")] * (depth - 1)
        made += stage("stage%d" % (i + 1), blocks)
        before = width
    return made + conv_norm(1280, 1, act="relu6") + classifier(dropout=0.2)


LARGE = (
    (3, 16, 16, False, "relu", 1),
    (3, 64, 24, False, "relu", 2),
    (3, 72, 24, False, "relu", 1),
    (5, 72, 40, True, "relu", 2),
    (5, 120, 40, True, "relu", 1),
    (5, 120, 40, True, "relu", 1),
    (3, 240, 80, False, "hardswish", 2),
    (3, 200, 80, False, "hardswish", 1),
    (3, 184, 80, False, "hardswish", 1),
    (3, 184, 80, False, "hardswish", 1),
    (3, 480, 112, True, "hardswish", 1),
    (3, 672, 112, True, "hardswish", 1),
    (5, 672, 160, True, "hardswish", 2),
    (5, 960, 160, True, "hardswish", 1),
    (5, 960, 160, True, "hardswish", 1),
)
SMALL = (
    (3, 16, 16, True, "relu", 2),
    (3, 72, 24, False, "relu", 2),
    (3, 88, 24, False, "relu", 1),
    (5, 96, 40, True, "hardswish", 2),
    (5, 240, 40, True, "hardswish", 1),
    (5, 240, 40, True, "hardswish", 1),
    (5, 120, 48, True, "hardswish", 1),
    (5, 144, 48, True, "hardswish", 1),
    (5, 288, 96, True, "hardswish", 2),
    (5, 576, 96, True, "hardswish", 1),
    (5, 576, 96, True, "hardswish", 1),
)


def mobilenet_v3(plan, last):
    made, before, blocks = conv_norm(16, 3, 2, act="hardswish"), 16, []
    for kernel, expand, width, excite, act, stride in plan:
        inner = (divisible(expand // 4), "relu", "hardsigmoid") if excite else None
        blocks.append(inverted(before, expand, width, kernel, stride, act, inner))
        before = width
    made += stage("block", blocks) + conv_norm(6 * before, 1, act="hardswish")
    made += [layer("adaptive_avg_pool2d", output_size=1), layer("flatten"), dense(last)]
    return made + [layer("hardswish"), layer("dropout", p=0.2), dense(1000, name="fc")]


def mnasnet():
    made = conv_norm(32, 3, 2) + depthwise(32, 3, 1, "relu") + conv_norm(16, 1, act=None)
    before = 16
    plan = (24, 3, 2, 3, 3), (40, 5, 2, 3, 3), (80, 5, 2, 6, 3), (96, 3, 1, 6, 2)
    for i, (width, kernel, stride, factor, depth) in enumerate(
        plan + ((192, 5, 2, 6, 4), (320, 3, 1, 6, 1))
    ):
        blocks = [inverted(before, before * factor, width, kernel, stride, "relu")]
        blocks += [inverted(width, width * factor, width, kernel, 1, "relu")] * (depth - 1)
        made += stage("stack%d" % (i + 1), blocks)
        before = width
    made += conv_norm(1280, 1) + [layer("mean", dim=[2, 3]), layer("dropout", p=0.2)]
    return made + [dense(1000, name="fc")]


def efficientnet(width, depth, dropout):
    def channels(base):
        return divisible(base * width)

    made, before, first = conv_norm(channels(32), 3, 2, act="silu"), channels(32), True
    plan = (1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3)
    plan += (6, 5, 1, 112, 3), (6, 5, 2, 192, 4), (6, 3, 1, 320, 1)
    for i, (factor, kernel, stride, base, count) in enumerate(plan):
        out, blocks = channels(base), []
        for k in range(int(math.ceil(count * depth))):
            enter = before if k == 0 else out
            excite = (max(1, enter // 4), "silu", "sigmoid")
            step = stride if k == 0 else 1
            expand = divisible(enter * factor)
            blocks.append(
                inverted(enter, expand, out, kernel, step, "silu", excite, not first)
            )
            first = False
        made += stage("stage%d" % (i + 1), blocks)
        before = out
    return made + conv_norm(4 * before, 1, act="silu") + classifier(dropout=dropout)


def write_all(folder):
    note = "Szegedy et al. 2014 (arXiv 1409.4842), as in torchvision, without auxiliary heads"
    image(folder, "googlenet", note, googlenet())
    note = "Szegedy et al. 2015 (arXiv 1512.00567), as in torchvision, without the auxiliary head"
    image(folder, "inception_v3", note, inception_v3(), size=299)
    note = "Iandola et al. 2016 (arXiv 1602.07360), as in torchvision"
    plan = [(16, 64), (16, 64), (32, 128), "pool", (32, 128), (48, 192), (48, 192)]
    plan = ["pool"] + plan + [(64, 256), "pool", (64, 256)]
    image(folder, "squeezenet1_0", note, squeezenet((96, 7, 2), plan))
    plan = ["pool", (16, 64), (16, 64), "pool", (32, 128), (32, 128), "pool", (48, 192)]
    plan += [(48, 192), (64, 256), (64, 256)]
    image(folder, "squeezenet1_1", note, squeezenet((64, 3, 2), plan))
    note = "Ma et al. 2018 (arXiv 1807.11164), as in torchvision"
    image(folder, "shufflenet_v2_x0_5", note, shufflenet((48, 96, 192, 1024)), batch=256)
    image(folder, "shufflenet_v2_x1_0", note, shufflenet((116, 232, 464, 1024)), batch=256)
    note = "Sandler et al. 2018 (arXiv 1801.04381), width 1.0, as in torchvision"
    image(folder, "mobilenet_v2", note, mobilenet_v2(), batch=256, optimizer="rmsprop")
    note = "Howard et al. 2019 (arXiv 1905.02244), as in torchvision"
    for name, plan, last in (("small", SMALL, 1024), ("large", LARGE, 1280)):
        made = mobilenet_v3(plan, last)
        image(folder, "mobilenet_v3_" + name, note, made, batch=256, optimizer="rmsprop")
    note = "Tan et al. 2018 (arXiv 1807.11626), as in torchvision"
    image(folder, "mnasnet1_0", note, mnasnet(), batch=256, optimizer="rmsprop")
    note = "Tan and Le 2019 (arXiv 1905.11946), as in torchvision"
    for name, width, depth, size, dropout in (
        ("b0", 1.0, 1.0, 224, 0.2),
        ("b1", 1.0, 1.1, 240, 0.2),
        ("b2", 1.1, 1.2, 288, 0.3),
        ("b3", 1.2, 1.4, 300, 0.3),
        ("b4", 1.4, 1.8, 380, 0.4),
    ):
        made = efficientnet(width, depth, dropout)
        image(folder, "efficientnet_" + name, note, made, size=size, optimizer="rmsprop")
