# SPDX-License-Identifier: Apache-2.0
"""LeNet to ResNet, ResNeXt, DenseNet and RegNet, as torchvision builds them."""

import math

from models.spec import block, classifier, conv, conv_norm, dense, divisible, image, layer, stage, write


def lenet5():
    return [
        conv(6, 5, padding=2, bias=True, name="c1"),
        layer("tanh"),
        layer("avg_pool2d", "s2", kernel_size=2),
        conv(16, 5, bias=True, name="c3"),
        layer("tanh"),
        layer("avg_pool2d", "s4", kernel_size=2),
        layer("flatten"),
        dense(120, name="c5"),
        layer("tanh"),
        dense(84, name="f6"),
        layer("tanh"),
        dense(10, name="output"),
    ]


def mlp():
    made = [layer("flatten")]
    for width in (512, 512):
        made += [dense(width), layer("relu"), layer("dropout", p=0.2)]
    return made + [dense(10)]


def alexnet():
    made = []
    for out, kernel, stride, padding, pool in (
        (64, 11, 4, 2, True),
        (192, 5, 1, 2, True),
        (384, 3, 1, 1, False),
        (256, 3, 1, 1, False),
        (256, 3, 1, 1, True),
    ):
        made += [conv(out, kernel, stride, padding, bias=True), layer("relu")]
        if pool:
            made.append(layer("max_pool2d", kernel_size=3, stride=2))
    made += [layer("adaptive_avg_pool2d", output_size=6), layer("flatten")]
    made += [layer("dropout", p=0.5), dense(4096), layer("relu")]
    return made + [layer("dropout", p=0.5), dense(4096), layer("relu"), dense(1000)]


def vgg_trunk(depths, norm=False):
    made = []
    for out, depth in zip((64, 128, 256, 512, 512), depths):
        for _ in range(depth):
            made.append(conv(out, 3, padding=1, bias=True))
            made += [layer("batch_norm")] * norm
            made.append(layer("relu"))
        made.append(layer("max_pool2d", kernel_size=2))
    return made


def vgg(depths, norm=False):
    made = vgg_trunk(depths, norm)
    made += [layer("adaptive_avg_pool2d", output_size=7), layer("flatten")]
    for width in (4096, 4096):
        made += [dense(width), layer("relu"), layer("dropout", p=0.5)]
    return made + [dense(1000)]


def residual(main, width, stride, shortcut):
    """main + its input, which a 1 x 1 convolution brings to the right shape where it has to."""
    if not shortcut:
        return main + [layer("add", inputs=["@", "@input"]), layer("relu")]
    main = main[:-1] + [layer("batch_norm", "main")]
    down = conv(width, 1, stride, name="downsample", inputs="@input")
    return main + [
        down,
        layer("batch_norm"),
        layer("add", inputs=["main", "@"]),
        layer("relu"),
    ]


def basic(width, stride, shortcut):
    main = [
        conv(width, 3, stride, 1, name="conv1"),
        layer("batch_norm"),
        layer("relu"),
        conv(width, 3, 1, 1, name="conv2"),
        layer("batch_norm"),
    ]
    return residual(main, width, stride, shortcut)


def bottleneck(groups, base):
    def made(width, stride, shortcut):
        inner = width * base // 64 * groups
        main = [
            conv(inner, 1, name="conv1"),
            layer("batch_norm"),
            layer("relu"),
            conv(inner, 3, stride, 1, groups, name="conv2"),
            layer("batch_norm"),
            layer("relu"),
            conv(4 * width, 1, name="conv3"),
            layer("batch_norm"),
        ]
        return residual(main, 4 * width, stride, shortcut)

    return made


def resnet_stem():
    return [
        conv(64, 7, 2, 3, name="conv1"),
        layer("batch_norm"),
        layer("relu"),
        layer("max_pool2d", kernel_size=3, stride=2, padding=1),
    ]


def resnet(depths, unit):
    made = resnet_stem()
    for i, depth in enumerate(depths):
        width, stride = 64 << i, 1 if i == 0 else 2
        shortcut = i > 0 or unit is not basic
        blocks = [unit(width, stride, shortcut)] + [unit(width, 1, False)] * (depth - 1)
        made += stage("layer%d" % (i + 1), blocks)
    return made + classifier()


def resnet8():
    made = [conv(16, 3, padding=1, name="conv1"), layer("batch_norm"), layer("relu")]
    for i, width in enumerate((16, 32, 64)):
        made.append(block(basic(width, 1 if i == 0 else 2, i > 0), "layer%d" % (i + 1)))
    return made + [
        layer("adaptive_avg_pool2d", output_size=1),
        layer("flatten"),
        dense(10, name="fc"),
    ]


def densenet(depths, growth, first):
    made = [
        conv(first, 7, 2, 3, name="conv0"),
        layer("batch_norm"),
        layer("relu"),
        layer("max_pool2d", kernel_size=3, stride=2, padding=1),
    ]
    channels = first
    for i, depth in enumerate(depths):
        one = [
            layer("batch_norm"),
            layer("relu"),
            conv(4 * growth, 1),
            layer("batch_norm"),
            layer("relu"),
            conv(growth, 3, padding=1),
            layer("concat", inputs=["@input", "@"]),
        ]
        made.append(block(one, "denseblock%d" % (i + 1), depth))
        channels += depth * growth
        if i + 1 < len(depths):
            channels //= 2
            made += [layer("batch_norm"), layer("relu"), conv(channels, 1)]
            made.append(layer("avg_pool2d", kernel_size=2))
    return made + [layer("batch_norm"), layer("relu")] + classifier()


def regnet_widths(depth, first, slope, factor, group):
    """Widths and depths of the stages: Radosavovic et al. 2020, section 3.3, as torchvision rounds."""
    widths = []
    for i in range(depth):
        power = round(math.log((i * slope + first) / first) / math.log(factor))
        widths.append(int(round(first * factor**power / 8) * 8))
    stages = []
    for width in widths:
        if not stages or stages[-1][0] != width:
            stages.append([width, 0])
        stages[-1][1] += 1
    return [(divisible(w, min(group, w)), n, min(group, w)) for w, n in stages]


def regnet(depth, first, slope, factor, group, excite):
    def unit(before, width, stride, groups, shortcut):
        made = conv_norm(width, 1) + conv_norm(width, 3, stride, groups=groups, name="b")
        if excite:
            made += [
                layer("adaptive_avg_pool2d", output_size=1),
                conv(int(round(before / 4)), 1, bias=True),
                layer("relu"),
                conv(width, 1, bias=True),
                layer("sigmoid"),
                layer("mul", inputs=["b", "@"]),
            ]
        made += conv_norm(width, 1, act=None)
        return residual(made, width, stride, shortcut)

    made, before = conv_norm(32, 3, 2), 32
    for i, (width, depths, groups) in enumerate(regnet_widths(depth, first, slope, factor, group)):
        blocks = [unit(before, width, 2, width // groups, True)]
        blocks += [unit(width, width, 1, width // groups, False)] * (depths - 1)
        made += stage("stage%d" % (i + 1), blocks)
        before = width
    return made + classifier()


def write_all(folder):
    note = "LeCun et al. 1998, as usually rebuilt: 28 x 28 padded by 2, full connections"
    training = {"samples": 60000, "batch": 64, "optimizer": "sgd"}
    write(folder, "lenet5", note, [1, 28, 28], lenet5(), training)
    write(folder, "mlp", "Two hidden layers of 512 for images of 28 x 28", [1, 28, 28], mlp())
    note = "Krizhevsky 2014 (arXiv 1404.5997), as in torchvision"
    image(folder, "alexnet", note, alexnet(), batch=256)
    for name, depths in (
        ("vgg11", (1, 1, 2, 2, 2)),
        ("vgg13", (2, 2, 2, 2, 2)),
        ("vgg16", (2, 2, 3, 3, 3)),
        ("vgg19", (2, 2, 4, 4, 4)),
    ):
        note = "Simonyan and Zisserman 2014 (arXiv 1409.1556), as in torchvision"
        image(folder, name, note, vgg(depths), batch=64)
    image(folder, "vgg16_bn", note + ", with batch_norm", vgg((2, 2, 3, 3, 3), True))
    note = "He et al. 2015 (arXiv 1512.03385), as in torchvision"
    image(folder, "resnet18", note, resnet((2, 2, 2, 2), basic), batch=256)
    image(folder, "resnet34", note, resnet((3, 4, 6, 3), basic))
    note = "He et al. 2015 (arXiv 1512.03385), with the stride in the 3 x 3 convolution, as in torchvision"
    image(folder, "resnet50", note, resnet((3, 4, 6, 3), bottleneck(1, 64)))
    image(folder, "resnet101", note, resnet((3, 4, 23, 3), bottleneck(1, 64)))
    image(folder, "resnet152", note, resnet((3, 8, 36, 3), bottleneck(1, 64)))
    note = "Xie et al. 2016 (arXiv 1611.05431), as in torchvision"
    image(folder, "resnext50_32x4d", note, resnet((3, 4, 6, 3), bottleneck(32, 4)))
    image(folder, "resnext101_32x8d", note, resnet((3, 4, 23, 3), bottleneck(32, 8)))
    note = "Zagoruyko and Komodakis 2016 (arXiv 1605.07146), as in torchvision"
    image(folder, "wide_resnet50_2", note, resnet((3, 4, 6, 3), bottleneck(1, 128)))
    image(folder, "wide_resnet101_2", note, resnet((3, 4, 23, 3), bottleneck(1, 128)))
    note = "The smallest of He et al.'s CIFAR networks (arXiv 1512.03385, section 4.2; n = 1), shortcuts by 1 x 1 convolution"
    training = {"samples": 50000, "batch": 128, "optimizer": "momentum"}
    write(folder, "resnet8", note, [3, 32, 32], resnet8(), training)
    note = "Huang et al. 2016 (arXiv 1608.06993), as in torchvision"
    image(folder, "densenet121", note, densenet((6, 12, 24, 16), 32, 64))
    image(folder, "densenet169", note, densenet((6, 12, 32, 32), 32, 64))
    image(folder, "densenet201", note, densenet((6, 12, 48, 32), 32, 64))
    note = "Radosavovic et al. 2020 (arXiv 2003.13678), as in torchvision"
    image(folder, "regnet_x_400mf", note, regnet(22, 24, 24.48, 2.54, 16, False))
    image(folder, "regnet_x_8gf", note, regnet(23, 80, 49.56, 2.88, 120, False))
    image(folder, "regnet_y_400mf", note, regnet(16, 48, 27.89, 2.09, 8, True))
    image(folder, "regnet_y_8gf", note, regnet(17, 192, 76.82, 2.19, 56, True))
