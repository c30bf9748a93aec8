"""Language models: an LSTM, BERT and GPT-2."""

import math

import torch
from torch import nn

from .twin import Sizes, Stage, Twin, token_loss

HEAD_FEATURES = 64
STDDEV = 0.02


class StepsFirst(nn.Module):
    def forward(self, x):
        return x.transpose(0, 1)


class Lstm(nn.Module):
    """All layers. The second bias, which Sluice does not have, is zero and stays so."""

    def __init__(self, width, depth, dropout):
        super().__init__()
        self.cells = nn.LSTM(width, width, depth, dropout=dropout if depth > 1 else 0.0)
        for name, parameter in self.cells.named_parameters():
            if name.startswith("bias_hh"):
                nn.init.zeros_(parameter).requires_grad_(False)

    def forward(self, x):
        return self.cells(x)[0]


def lstm(sizes):
    return nn.Sequential(
        nn.Sequential(nn.Embedding(sizes.classes, sizes.width), StepsFirst(), nn.Dropout(sizes.dropout)),
        nn.Sequential(Lstm(sizes.width, sizes.depth, sizes.dropout), nn.Dropout(sizes.dropout)),
        nn.Sequential(StepsFirst(), nn.Linear(sizes.width, sizes.classes)))


class Positions(nn.Module):
    def __init__(self, sequence, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(sequence, width) * STDDEV)

    def forward(self, x):
        return x + self.weight


class Attention(nn.Module):
    def __init__(self, width, sequence, causal, dropout):
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)
        mask = torch.full((sequence, sequence), -math.inf).triu(1) if causal else None
        self.register_buffer("mask", mask, persistent=False)

    def heads(self, x):
        batch, sequence, width = x.shape
        return x.view(batch, sequence, width // HEAD_FEATURES, HEAD_FEATURES).transpose(1, 2)

    def forward(self, x):
        scores = (self.heads(self.query(x)) / math.sqrt(HEAD_FEATURES)) @ self.heads(self.key(x)).transpose(2, 3)
        if self.mask is not None:
            scores = scores + self.mask
        mixed = self.dropout(scores.softmax(-1)) @ self.heads(self.value(x))
        return self.output(mixed.transpose(1, 2).reshape(x.shape))


class EncoderLayer(nn.Module):
    """BERT's: a norm after each sum."""

    def __init__(self, sizes):
        super().__init__()
        self.attention = Attention(sizes.width, sizes.sequence, False, sizes.dropout)
        self.attention_norm = nn.LayerNorm(sizes.width, 1e-12)
        self.intermediate = nn.Linear(sizes.width, 4 * sizes.width)
        self.output = nn.Linear(4 * sizes.width, sizes.width)
        self.norm = nn.LayerNorm(sizes.width, 1e-12)
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, x):
        x = self.attention_norm(self.dropout(self.attention(x)) + x)
        y = self.output(nn.functional.gelu(self.intermediate(x)))
        return self.norm(self.dropout(y) + x)


class BertEmbeddings(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.words = nn.Embedding(sizes.classes, sizes.width)
        self.segments = nn.Embedding(2, sizes.width)
        self.positions = Positions(sizes.sequence, sizes.width)
        self.norm = nn.LayerNorm(sizes.width, 1e-12)
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, tokens_and_segments):
        tokens, segments = tokens_and_segments
        return self.dropout(self.norm(self.positions(self.words(tokens) + self.segments(segments))))


class TiedLinear(nn.Module):
    def __init__(self, weight, bias):
        super().__init__()
        self.weight = weight
        self.bias = nn.Parameter(torch.zeros(weight.shape[0])) if bias else None

    def forward(self, x):
        return nn.functional.linear(x, self.weight, self.bias)


def bert(sizes):
    embeddings = BertEmbeddings(sizes)
    transform = [nn.Linear(sizes.width, sizes.width), nn.GELU(), nn.LayerNorm(sizes.width, 1e-12)]
    model = nn.Sequential(embeddings, *[EncoderLayer(sizes) for _ in range(sizes.depth)],
                          nn.Sequential(*transform, TiedLinear(embeddings.words.weight, True)))
    return start_small(model)


class DecoderLayer(nn.Module):
    """GPT-2's: a norm before each part."""

    def __init__(self, sizes):
        super().__init__()
        self.norm1 = nn.LayerNorm(sizes.width)
        self.attention = Attention(sizes.width, sizes.sequence, True, sizes.dropout)
        self.norm2 = nn.LayerNorm(sizes.width)
        self.intermediate = nn.Linear(sizes.width, 4 * sizes.width)
        self.output = nn.Linear(4 * sizes.width, sizes.width)
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, x):
        x = self.dropout(self.attention(self.norm1(x))) + x
        y = self.output(nn.functional.gelu(self.intermediate(self.norm2(x)), approximate="tanh"))
        return self.dropout(y) + x


def gpt2(sizes):
    words = nn.Embedding(sizes.classes, sizes.width)
    model = nn.Sequential(
        nn.Sequential(words, Positions(sizes.sequence, sizes.width), nn.Dropout(sizes.dropout)),
        *[DecoderLayer(sizes) for _ in range(sizes.depth)],
        nn.Sequential(nn.LayerNorm(sizes.width), TiedLinear(words.weight, False)))
    return start_small(model)


def start_small(model):
    for module in model.modules():
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, 0.0, STDDEV)
        if isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)
    return model


def next_token_inputs(sizes, generator):
    """Tokens [B, S] and what follows each."""
    text = torch.randint(sizes.classes, (sizes.batch, sizes.sequence + 1), generator=generator)
    return text[:, :-1].contiguous(), text[:, 1:].contiguous()


def next_token_loss(run, inputs):
    tokens, labels = inputs
    return token_loss(run(tokens), labels)


def masked_token_inputs(sizes, generator):
    """Tokens [B, S] of which 15% are the mask token, segments, and what the mask hides."""
    shape = (sizes.batch, sizes.sequence)
    text = torch.randint(sizes.classes - 1, shape, generator=generator)
    hidden = torch.rand(shape, generator=generator) < 0.15
    hidden[:, 0] = True
    segments = (torch.arange(sizes.sequence) >= sizes.sequence // 2).long().expand(shape).contiguous()
    return torch.where(hidden, sizes.classes - 1, text), segments, torch.where(hidden, text, -1)


def masked_token_loss(run, inputs):
    tokens, segments, labels = inputs
    return token_loss(run((tokens, segments)), labels)


NEXT_TOKEN = (Stage(next_token_loss),)

TWINS = {
    "lstm": Twin(lstm, next_token_inputs, NEXT_TOKEN,
                 Sizes(batch=20, classes=10000, sequence=35, width=650, depth=2, dropout=0.5)),
    "bert_base": Twin(bert, masked_token_inputs, (Stage(masked_token_loss),),
                      Sizes(batch=8, classes=30522, sequence=128, width=768, depth=12, dropout=0.1)),
    "gpt2_small": Twin(gpt2, next_token_inputs, NEXT_TOKEN,
                       Sizes(batch=4, classes=50257, sequence=256, width=768, depth=12, dropout=0.1)),
}
