# SPDX-License-Identifier: Apache-2.0
"""Small networks of torch.nn that torchvision has none of: language models, recurrent networks, an
encoder and decoder of images."""
import torch
from torch import nn

WORDS, WIDTH, LENGTH = 1000, 128, 32


class Bert(nn.Module):
    """Token, position and segment embeddings, post-norm encoder layers, a pooler."""

    def __init__(self):
        super().__init__()
        self.word = nn.Embedding(WORDS, WIDTH)
        self.position = nn.Embedding(64, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.pooler = nn.Linear(WIDTH, WIDTH)

    def forward(self, ids):
        x = self.word(ids) + self.position(torch.arange(ids.shape[1]))
        return torch.tanh(self.pooler(self.encoder(self.norm(x))[:, 0]))


class Block(nn.Module):
    """A pre-norm decoder layer as GPT-2 has it, written out."""

    def __init__(self, heads=4):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.fc, self.out = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.act, self.drop = nn.GELU(), nn.Dropout(0.1)

    def forward(self, x):
        n, t, c = x.shape
        q, k, v = self.qkv(self.ln_1(x)).split(c, dim=2)
        q, k, v = (y.view(n, t, self.heads, c // self.heads).transpose(1, 2) for y in (q, k, v))
        score = q @ k.transpose(-2, -1) / (c // self.heads) ** 0.5
        score = score.masked_fill(torch.ones(t, t).triu(1).bool(), float("-inf"))
        y = (score.softmax(-1) @ v).transpose(1, 2).reshape(n, t, c)
        x = x + self.drop(self.proj(y))
        return x + self.drop(self.out(self.act(self.fc(self.ln_2(x)))))


class Gpt(nn.Module):
    """Tied input and output embeddings."""

    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(WORDS, WIDTH), nn.Embedding(64, WIDTH)
        self.blocks = nn.Sequential(Block(), Block())
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)
        self.head.weight = self.wte.weight

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        return self.head(self.norm(self.blocks(x)))


class RmsNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class Gated(nn.Module):
    """rms_norm and a gated perceptron."""

    def __init__(self):
        super().__init__()
        self.word, self.norm = nn.Embedding(WORDS, WIDTH), RmsNorm()
        self.gate = nn.Linear(WIDTH, 300, bias=False)
        self.up = nn.Linear(WIDTH, 300, bias=False)
        self.down = nn.Linear(300, WIDTH, bias=False)
        self.act = nn.SiLU()

    def forward(self, ids):
        x = self.word(ids)
        y = self.norm(x)
        return x + self.down(self.act(self.gate(y)) * self.up(y))


class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.word = nn.Embedding(WORDS, WIDTH)
        self.body = kind(WIDTH, 64, batch_first=True, **options)
        self.out = nn.Linear(128 if options.get("bidirectional") else 64, WORDS)

    def forward(self, ids):
        return self.out(self.body(self.word(ids))[0])


class Images(nn.Module):
    """Down and up again: transposed convolutions, upsampling, concatenation, group_norm."""

    def __init__(self):
        super().__init__()
        self.one = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.ReLU())
        self.two = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1, bias=False),
                                 nn.BatchNorm2d(32), nn.LeakyReLU(0.1), nn.AvgPool2d(2))
        self.up = nn.ConvTranspose2d(32, 16, 3, stride=2, padding=1, output_padding=1)
        self.wide = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
        self.last = nn.Conv2d(32, 1, 1)

    def forward(self, x):
        one = self.one(x)
        up = self.wide(self.up(self.two(one)))
        return torch.sigmoid(self.last(torch.cat([one, up], 1))).mean((2, 3))


class Sequence(nn.Module):
    """nn.Transformer: encoder, decoder, cross attention; length first."""

    def __init__(self):
        super().__init__()
        self.body = nn.Transformer(WIDTH, 4, 1, 1, 256)

    def forward(self, x, y):
        return self.body(x.transpose(0, 1), y.transpose(0, 1)).transpose(0, 1)


def tokens(n):
    return [torch.randint(WORDS, (n, LENGTH))]


def networks():
    return {
        "bert-like": (Bert, tokens),
        "gpt2-like": (Gpt, tokens),
        "llama-like-mlp": (Gated, tokens),
        "transformer": (Sequence,
                        lambda n: [torch.randn(n, LENGTH, WIDTH), torch.randn(n, 20, WIDTH)]),
        "lstm": (lambda: Recurrent(nn.LSTM, num_layers=2), tokens),
        "lstm-both-ways": (lambda: Recurrent(nn.LSTM, bidirectional=True), tokens),
        "gru": (lambda: Recurrent(nn.GRU, num_layers=2), tokens),
        "rnn": (lambda: Recurrent(nn.RNN), tokens),
        "images": (Images, lambda n: [torch.randn(n, 3, 64, 64)]),
    }
