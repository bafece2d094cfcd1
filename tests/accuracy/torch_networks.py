# SPDX-License-Identifier: Apache-2.0
"""Networks in plain torch.nn that torchvision does not have, for torch-compare."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class LeNet5(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Conv2d(1, 6, 5, padding=2),
            nn.Tanh(),
            nn.AvgPool2d(2),
            nn.Conv2d(6, 16, 5),
            nn.Tanh(),
            nn.AvgPool2d(2),
            nn.Flatten(),
            nn.Linear(400, 120),
            nn.Tanh(),
            nn.Linear(120, 84),
            nn.Tanh(),
            nn.Linear(84, 10),
        )


class MLP(nn.Sequential):
    def __init__(self):
        parts, before = [nn.Flatten()], 784
        for width in (512, 512):
            parts += [nn.Linear(before, width), nn.ReLU(), nn.Dropout(0.2)]
            before = width
        super().__init__(*parts, nn.Linear(before, 10))


def conv_norm(before, width):
    return [nn.Conv2d(before, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.up, self.merge = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        before = 3
        for i in range(5):
            width = 64 << i
            self.down.append(nn.Sequential(*conv_norm(before, width), *conv_norm(width, width)))
            before = width
        for i in (3, 2, 1, 0):
            width = 64 << i
            self.up.append(nn.ConvTranspose2d(2 * width, width, 2, 2))
            self.merge.append(nn.Sequential(*conv_norm(2 * width, width), *conv_norm(width, width)))
        self.pool = nn.MaxPool2d(2)
        self.last = nn.Conv2d(64, 2, 1)

    def forward(self, x):
        kept = []
        for i, part in enumerate(self.down):
            x = part(self.pool(x) if i else x)
            kept.append(x)
        for i, (up, merge) in enumerate(zip(self.up, self.merge)):
            x = merge(torch.cat([kept[3 - i], up(x)], 1))
        return self.last(x)


class DCGAN(nn.Sequential):
    def __init__(self):
        parts, before = [], 100
        for i, width in enumerate((512, 256, 128, 64)):
            stride, padding = (1, 0) if i == 0 else (2, 1)
            parts.append(nn.ConvTranspose2d(before, width, 4, stride, padding, bias=False))
            parts += [nn.BatchNorm2d(width), nn.ReLU()]
            before = width
        parts += [nn.ConvTranspose2d(64, 3, 4, 2, 1, bias=False), nn.Tanh()]
        parts += [nn.Conv2d(3, 64, 4, 2, 1, bias=False), nn.LeakyReLU(0.2)]
        for width in (128, 256, 512):
            parts += [nn.Conv2d(width // 2, width, 4, 2, 1, bias=False), nn.BatchNorm2d(width)]
            parts.append(nn.LeakyReLU(0.2))
        super().__init__(*parts, nn.Conv2d(512, 1, 4, bias=False), nn.Sigmoid())


class ResNet8(nn.Module):
    class Block(nn.Module):
        def __init__(self, before, width, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(before, width, 3, stride, 1, bias=False)
            self.norm1 = nn.BatchNorm2d(width)
            self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
            self.norm2 = nn.BatchNorm2d(width)
            self.relu = nn.ReLU()
            self.down = None
            if before != width:
                down = nn.Conv2d(before, width, 1, stride, bias=False)
                self.down = nn.Sequential(down, nn.BatchNorm2d(width))

        def forward(self, x):
            y = self.relu(self.norm1(self.conv1(x)))
            y = self.norm2(self.conv2(y))
            return self.relu(y + (self.down(x) if self.down else x))

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU()
        )
        self.blocks = nn.Sequential(
            self.Block(16, 16, 1), self.Block(16, 32, 2), self.Block(32, 64, 2)
        )
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        return self.fc(torch.flatten(F.adaptive_avg_pool2d(self.blocks(self.stem(x)), 1), 1))


def attend(query, key, value, mask, dropout):
    """Heads of N x h x L x d; every step a kernel of its own, as Hugging Face's eager code does."""
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    weights = dropout(torch.softmax(scores + mask, -1))
    joined = (weights @ value).permute(0, 2, 1, 3).contiguous()
    return joined.view(*joined.shape[:2], -1)


class Attention(nn.Module):
    def __init__(self, width, heads, packed):
        super().__init__()
        self.heads = heads
        if packed:
            self.qkv = nn.Linear(width, 3 * width)
        else:
            self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
            self.value = nn.Linear(width, width)
        self.packed, self.dropout = packed, nn.Dropout(0.1)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        if self.packed:
            parts = self.qkv(x).split(x.shape[-1], -1)
        else:
            parts = self.query(x), self.key(x), self.value(x)
        heads = [p.view(*p.shape[:2], self.heads, -1).permute(0, 2, 1, 3) for p in parts]
        mask = torch.zeros(x.shape[1], x.shape[1])
        return self.out(attend(*heads, mask, self.dropout))


class Bert(nn.Module):
    """BertForPreTraining."""

    class Layer(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.attention = Attention(width, heads, False)
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.drop1, self.drop2 = nn.Dropout(0.1), nn.Dropout(0.1)

        def forward(self, x):
            x = self.norm1(self.drop1(self.attention(x)) + x)
            return self.norm2(self.drop2(self.down(F.gelu(self.up(x)))) + x)

    def __init__(self, width, depth, heads, vocabulary=30522):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.types = nn.Embedding(2, width)
        self.positions = nn.Embedding(512, width)
        self.norm, self.drop = nn.LayerNorm(width), nn.Dropout(0.1)
        self.layers = nn.Sequential(*(self.Layer(width, heads) for _ in range(depth)))
        self.pooler, self.relation = nn.Linear(width, width), nn.Linear(width, 2)
        self.transform, self.norm2 = nn.Linear(width, width), nn.LayerNorm(width)
        self.decoder = nn.Linear(width, vocabulary)
        self.decoder.weight = self.words.weight

    def forward(self, words, types):
        x = self.words(words) + self.types(types) + self.positions(torch.arange(words.shape[1]))
        x = self.layers(self.drop(self.norm(x)))
        relation = self.relation(torch.tanh(self.pooler(x[:, 0])))
        return self.decoder(self.norm2(F.gelu(self.transform(x)))), relation


class GPT2(nn.Module):
    """GPT2LMHeadModel."""

    class Block(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attention = Attention(width, heads, True)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.drop1, self.drop2 = nn.Dropout(0.1), nn.Dropout(0.1)

        def forward(self, x):
            x = x + self.drop1(self.attention(self.norm1(x)))
            up = self.up(self.norm2(x))
            inner = math.sqrt(2 / math.pi) * (up + 0.044715 * torch.pow(up, 3))
            return x + self.drop2(self.down(0.5 * up * (1 + torch.tanh(inner))))

    def __init__(self, width, depth, heads, positions=1024, vocabulary=50257):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(positions, width)
        self.drop, self.norm = nn.Dropout(0.1), nn.LayerNorm(width)
        self.blocks = nn.Sequential(*(self.Block(width, heads) for _ in range(depth)))
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.words.weight

    def forward(self, words):
        x = self.drop(self.words(words) + self.positions(torch.arange(words.shape[1])))
        return self.head(self.norm(self.blocks(x)))


class LSTMModel(nn.Module):
    def __init__(self, width=650, vocabulary=10000):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, 2, batch_first=True)
        self.drop1, self.drop2 = nn.Dropout(0.5), nn.Dropout(0.5)
        self.decoder = nn.Linear(width, vocabulary)

    def forward(self, words):
        return self.decoder(self.drop2(self.lstm(self.drop1(self.words(words)))[0]))
