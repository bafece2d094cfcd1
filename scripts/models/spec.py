# SPDX-License-Identifier: Apache-2.0
"""Layers, blocks and files of dltime-model(5)."""

import json
import os


def layer(op, name=None, inputs=None, **attributes):
    """One layer; attributes that are None are left out."""
    made = {"op": op}
    if name:
        made["name"] = name
    made.update((key, value) for key, value in attributes.items() if value is not None)
    if inputs is not None:
        made["inputs"] = [inputs] if isinstance(inputs, str) else inputs
    return made


def block(layers, name=None, repeat=None, inputs=None):
    """Layers whose names are their own."""
    made = {}
    if repeat is not None:
        made["repeat"] = repeat
    if name:
        made["name"] = name
    if inputs is not None:
        made["inputs"] = [inputs] if isinstance(inputs, str) else inputs
    made["layers"] = layers
    return made


def stage(name, blocks):
    """Blocks one after the other; equal neighbours become one that is repeated."""
    groups = []
    for layers in blocks:
        if groups and groups[-1][0] == layers:
            groups[-1][1] += 1
        else:
            groups.append([layers, 1])
    if len(groups) == 1:
        names = [name]
    elif len(groups) == 2:
        names = [name + "_first", name + "_rest"]
    else:
        names = ["%s_%d" % (name, i + 1) for i in range(len(groups))]
    return [
        block(layers, names[i], count if count > 1 else None)
        for i, (layers, count) in enumerate(groups)
    ]


def conv(out, kernel, stride=1, padding=0, groups=1, dilation=1, bias=False, op="conv2d", **rest):
    """A convolution without bias, as before a norm."""
    return layer(
        op,
        rest.pop("name", None),
        rest.pop("inputs", None),
        out_channels=out,
        kernel_size=kernel,
        stride=None if stride == 1 else stride,
        padding=None if padding == 0 else padding,
        dilation=None if dilation == 1 else dilation,
        groups=None if groups == 1 else groups,
        bias=None if bias else False,
        **rest
    )


def dense(out, bias=True, **rest):
    return layer(
        "dense",
        rest.pop("name", None),
        rest.pop("inputs", None),
        out_features=out,
        bias=None if bias else False,
        **rest
    )


def conv_norm(out, kernel, stride=1, padding=None, act="relu", groups=1, inputs=None, name=None):
    """Convolution, batch_norm and activation; padding keeps the size of stride 1."""
    if padding is None:
        padding = kernel // 2
    made = [conv(out, kernel, stride, padding, groups, inputs=inputs), layer("batch_norm")]
    if act:
        made.append(layer(act))
    if name:
        made[-1]["name"] = name
    return made


def classifier(classes=1000, dropout=None):
    """Global average, dropout and one dense layer."""
    made = [layer("adaptive_avg_pool2d", output_size=1), layer("flatten")]
    if dropout:
        made.append(layer("dropout", p=dropout))
    return made + [dense(classes, name="fc")]


def divisible(value, by=8):
    """The nearest multiple of `by`, not more than a tenth below (torchvision's _make_divisible)."""
    rounded = max(by, int(value + by / 2) // by * by)
    return rounded + by if rounded < 0.9 * value else rounded


def _text(item, indent):
    if "layers" not in item:
        return indent + json.dumps(item)
    head = json.dumps({key: value for key, value in item.items() if key != "layers"})[:-1]
    inner = ",\n".join(_text(each, indent + "  ") for each in item["layers"])
    return '%s%s%s"layers": [\n%s]}' % (indent, head, ", " if len(head) > 1 else "", inner)


def write(folder, name, comment, shape, layers, training=None):
    """FOLDER/NAME.json. shape: of the only input, or a dict of inputs."""
    key = "inputs" if isinstance(shape, dict) else "input"
    lines = ["{", '  "name": %s,' % json.dumps(name)]
    lines.append('  "comment": %s,' % json.dumps(comment))
    lines.append('  "%s": %s,' % (key, json.dumps(shape)))
    lines.append('  "layers": [')
    lines.append(",\n".join(_text(each, "    ") for each in layers) + "]" + ("," if training else ""))
    if training:
        lines.append('  "training": %s' % json.dumps(training))
    lines.append("}")
    with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def image(folder, name, comment, layers, size=224, batch=128, optimizer="momentum"):
    """A network for ImageNet."""
    training = {"samples": 1281167, "batch": batch, "optimizer": optimizer}
    write(folder, name, comment, [3, size, size], layers, training)
