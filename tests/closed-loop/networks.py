# SPDX-License-Identifier: Apache-2.0
"""Networks as their users write them in PyTorch; what dltime is told of them stands in specs/, etc/
and in `run`, which compares their parameters."""
import torch
import torchvision
from torch import nn


def lenet5():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(),
        nn.AvgPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84),
        nn.Tanh(), nn.Linear(84, 10))


def mlp():
    return nn.Sequential(
        nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Dropout(0.2), nn.Linear(512, 512),
        nn.ReLU(), nn.Dropout(0.2), nn.Linear(512, 10))


def mlp_wide():
    return nn.Sequential(
        nn.Flatten(), nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(),
        nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))


def convolution(inputs, outputs, stride=1):
    return [nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)]


def small_vgg():
    layers = []
    for inputs, outputs in ((3, 16), (16, 32)):
        layers += [*convolution(inputs, outputs), nn.ReLU(), *convolution(outputs, outputs),
                   nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(2048, 128), nn.ReLU(),
                         nn.Linear(128, 10))


class Block(nn.Module):
    """Two convolutions beside a shortcut, which is a 1 x 1 convolution where the size changes."""

    def __init__(self, inputs, outputs, stride=1):
        super().__init__()
        self.main = nn.Sequential(*convolution(inputs, outputs, stride), nn.ReLU(),
                                  *convolution(outputs, outputs))
        self.short = nn.Identity()
        if inputs != outputs:
            self.short = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                                       nn.BatchNorm2d(outputs))

    def forward(self, x):
        return torch.relu(self.main(x) + self.short(x))


def residual(stem, blocks, width):
    return nn.Sequential(*stem, nn.ReLU(), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(width, 10))


def resnet8():
    return residual(convolution(3, 16), [Block(16, 16), Block(16, 32, 2), Block(32, 64, 2)], 64)


def small_residual():
    return residual(convolution(3, 24, 2), [Block(24, 24) for _ in range(3)], 24)


class Recurrent(nn.Module):
    """A language model: logits of each token, one row each."""

    def __init__(self, words, width, layers, kind=nn.LSTM):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.lstm = kind(width, width, layers, batch_first=True)
        self.output = nn.Linear(width, words)

    def forward(self, ids):
        return self.output(self.lstm(self.embed(ids))[0]).flatten(0, 1)


def lstm_one():
    return Recurrent(2000, 128, 1)


def lstm_two():
    return Recurrent(5000, 256, 2)


class Transformer(nn.Module):
    """Encoder layers with the norm first, over learned positions; logits as of Recurrent."""

    def __init__(self, words, width, heads, layers, length):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.positions = nn.Parameter(torch.zeros(length, width))
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0,
                                           activation="gelu", batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, layers)
        self.output = nn.Linear(width, words)

    def forward(self, ids):
        return self.output(self.layers(self.embed(ids) + self.positions)).flatten(0, 1)


def transformer_two():
    return Transformer(2000, 128, 4, 2, 64)


def transformer_four():
    return Transformer(4000, 192, 6, 4, 96)


def shuffle():
    return torchvision.models.shufflenet_v2_x1_0()


def resnet18():
    return torchvision.models.resnet18()


def squeeze():
    return torchvision.models.squeezenet1_1()


def mobile():
    return torchvision.models.mobilenet_v2()


def plain_cnn():
    layers = []
    for inputs, outputs in ((3, 32), (32, 64)):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(),
                   nn.Conv2d(outputs, outputs, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(2304, 512), nn.ReLU(), nn.Dropout(0.5),
                         nn.Linear(512, 10))


def mlp_deep():
    layers = [nn.Flatten(), nn.Linear(784, 400), nn.Tanh()]
    for _ in range(3):
        layers += [nn.Linear(400, 400), nn.Tanh()]
    return nn.Sequential(*layers, nn.Linear(400, 10))


def mlp_narrow():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 300), nn.Sigmoid(), nn.Linear(300, 100),
                         nn.Sigmoid(), nn.Linear(100, 10))


def resnet20():
    stages = [Block(16, 16), Block(16, 16), Block(16, 16), Block(16, 32, 2), Block(32, 32),
              Block(32, 32), Block(32, 64, 2), Block(64, 64), Block(64, 64)]
    return residual(convolution(3, 16), stages, 64)


def gru_one():
    return Recurrent(3000, 192, 1, nn.GRU)


def lstm_small():
    return Recurrent(10000, 200, 2)


def transformer_one():
    return Transformer(1500, 256, 8, 1, 48)


def transformer_six():
    return Transformer(3000, 128, 4, 6, 128)


def resnet34():
    return torchvision.models.resnet34()


def mobile_small():
    return torchvision.models.mobilenet_v3_small()


def efficient():
    return torchvision.models.efficientnet_b0()


def dense():
    return torchvision.models.densenet121()


def inception():
    return torchvision.models.googlenet(aux_logits=False, init_weights=False)


def regular():
    return torchvision.models.regnet_y_400mf()


# Shape of one sample, classes or words.
IMAGES = {"lenet5": (1, 28, 28), "mlp": (1, 28, 28), "mlp_wide": (1, 28, 28),
          "small_vgg": (3, 32, 32), "resnet8": (3, 32, 32), "small_residual": (3, 32, 32),
          "plain_cnn": (3, 32, 32), "mlp_deep": (1, 28, 28), "mlp_narrow": (1, 28, 28),
          "resnet20": (3, 32, 32)}
TOKENS = {"lstm_one": (35, 2000), "lstm_two": (20, 5000), "transformer_two": (64, 2000),
          "transformer_four": (96, 4000), "gru_one": (35, 3000), "lstm_small": (20, 10000),
          "transformer_one": (48, 1500), "transformer_six": (128, 3000)}


def samples(name, count):
    """Synthetic inputs and targets of a network, in memory."""
    if name in TOKENS:
        length, words = TOKENS[name]
        ids = torch.randint(words, (count, length))
        return ids, ids.roll(-1, 1)
    shape = IMAGES.get(name, (3, 224, 224))
    return torch.rand(count, *shape), torch.randint(10, (count,))
