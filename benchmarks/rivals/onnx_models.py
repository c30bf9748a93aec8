"""Networks that are exported to ONNX: torchvision's, and small language models written in PyTorch's usual ways.

Each entry of MODELS makes (module, inputs, input names, open axes). Weights are random, of a fixed seed. Nets keep
their dropout; where a layer draws random numbers that ONNX cannot express (stochastic depth), it is switched off.
"""
import math

import torch
import torchvision
from torch import nn

BATCH = 2


class LstmModel(nn.Module):
    def __init__(self, vocabulary=1000, hidden=128):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.drop = nn.Dropout(0.2)
        self.lstm = nn.LSTM(hidden, hidden, num_layers=2)  # PyTorch cannot export its dropout while training
        self.decoder = nn.Linear(hidden, vocabulary)

    def forward(self, tokens):  # [T, B]
        return self.decoder(self.drop(self.lstm(self.drop(self.embedding(tokens)))[0]))


class Bert(nn.Module):
    """PyTorch's own encoder layers, as many people write it."""

    def __init__(self, vocabulary=1000, hidden=128, heads=4, layers=2, length=64):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, hidden)
        self.segments = nn.Embedding(2, hidden)
        self.positions = nn.Embedding(length, hidden)
        self.norm = nn.LayerNorm(hidden)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(hidden, heads, 4 * hidden, dropout=0.1, activation="gelu", batch_first=True)
            for _ in range(layers))
        self.decoder = nn.Linear(hidden, vocabulary)

    def forward(self, input_ids, token_type_ids):
        places = torch.arange(input_ids.shape[1]).unsqueeze(0)
        x = self.norm(self.tokens(input_ids) + self.segments(token_type_ids) + self.positions(places))
        for layer in self.layers:
            x = layer(x)
        return self.decoder(x)


class CausalAttention(nn.Module):
    def __init__(self, hidden, heads, length):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(hidden, 3 * hidden)
        self.out = nn.Linear(hidden, hidden)
        self.drop = nn.Dropout(0.1)
        self.register_buffer("bias", torch.tril(torch.ones(length, length, dtype=torch.bool)).view(1, 1, length, length))

    def forward(self, x):
        batch, length, hidden = x.shape
        q, k, v = (part.view(batch, length, self.heads, hidden // self.heads).transpose(1, 2)
                   for part in self.qkv(x).split(hidden, dim=2))
        scores = q @ k.transpose(-2, -1) / math.sqrt(hidden // self.heads)
        scores = scores.masked_fill(self.bias[:, :, :length, :length] == 0, float("-inf"))
        y = self.drop(torch.softmax(scores, dim=-1)) @ v
        return self.out(y.transpose(1, 2).reshape(batch, length, hidden))


class Gpt(nn.Module):
    def __init__(self, vocabulary=1000, hidden=128, heads=4, layers=2, length=64):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, hidden)
        self.positions = nn.Embedding(length, hidden)
        self.blocks = nn.ModuleList(
            nn.ModuleDict({
                "norm1": nn.LayerNorm(hidden), "attention": CausalAttention(hidden, heads, length),
                "norm2": nn.LayerNorm(hidden), "up": nn.Linear(hidden, 4 * hidden), "down": nn.Linear(4 * hidden, hidden)
            }) for _ in range(layers))
        self.norm = nn.LayerNorm(hidden)
        self.head = nn.Linear(hidden, vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, input_ids):
        x = self.tokens(input_ids) + self.positions(torch.arange(input_ids.shape[1]))
        for block in self.blocks:
            x = x + block["attention"](block["norm1"](x))
            x = x + block["down"](nn.functional.gelu(block["up"](block["norm2"](x))))
        return self.head(self.norm(x))


def image_model(make, size=224, **options):
    def build():
        return make(weights=None, **options), (torch.randn(BATCH, 3, size, size),), ["images"], {"images": {0: "N"}}
    return build


def token_model(make, shape, names, batch_axis):
    def build():
        inputs = tuple(torch.randint(0, 2 if "type" in name else 1000, shape) for name in names)
        return make(), inputs, names, {name: {batch_axis: "N"} for name in names}
    return build


vision = torchvision.models
MODELS = {
    "resnet18": image_model(vision.resnet18),
    "resnet50": image_model(vision.resnet50),
    "mobilenet_v2": image_model(vision.mobilenet_v2),
    "squeezenet1_1": image_model(vision.squeezenet1_1),
    "densenet121": image_model(vision.densenet121),
    "inception_v3": image_model(vision.inception_v3, 299, init_weights=False),
    # PyTorch cannot export the adaptive pooling of its auxiliary heads at 224 pixels.
    "googlenet": image_model(vision.googlenet, init_weights=False, aux_logits=False),
    "shufflenet_v2_x1_0": image_model(vision.shufflenet_v2_x1_0),
    "efficientnet_b0": image_model(vision.efficientnet_b0, stochastic_depth_prob=0.0),
    "vgg11": image_model(vision.vgg11),
    "lstm": token_model(LstmModel, (35, BATCH), ["tokens"], 1),
    "bert": token_model(Bert, (BATCH, 64), ["input_ids", "token_type_ids"], 0),
    "gpt": token_model(Gpt, (BATCH, 64), ["input_ids"], 0),
}
