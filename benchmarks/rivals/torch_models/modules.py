"""What users bring: torchvision's networks as they are, and two whose steps differ.

    resnet18, efficientnet_b0, vit_b_16    torchvision's modules, not taken apart into blocks
    depth_drawn                            residual blocks, of which each step draws how many it goes through
    early_exits                            the same blocks; a batch of higher contrast leaves through an earlier head

The last two get a fresh batch in each step. What a step draws depends on its number alone.
"""

import random

import torch
import torchvision
from torch import nn

from .twin import Sizes, Stage, Twin, image_inputs, image_loss, image_twin

BLOCKS = 16
EXITS = ((6, 1.5), (11, 0.75))  # behind so many blocks, for a batch whose values spread at least so far


def whole(make, **options):
    return lambda sizes: make(weights=None, num_classes=sizes.classes, **options)


def vit(sizes):
    return torchvision.models.vit_b_16(weights=None, num_classes=sizes.classes, dropout=sizes.dropout)


def efficientnet(sizes):
    net = torchvision.models.efficientnet_b0(weights=None, num_classes=sizes.classes, stochastic_depth_prob=0.0)
    net.classifier[0].p = sizes.dropout
    return net


class Residual(nn.Module):
    def __init__(self, width, dropout):
        super().__init__()
        self.part = nn.Sequential(nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                                  nn.Dropout(dropout), nn.Conv2d(width, width, 3, padding=1, bias=False),
                                  nn.BatchNorm2d(width))

    def forward(self, x):
        return torch.relu(x + self.part(x))


def head(width, classes):
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes))


class DepthDrawn(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.stem = nn.Conv2d(3, sizes.width, 3, stride=2, padding=1)
        self.blocks = nn.ModuleList(Residual(sizes.width, sizes.dropout) for _ in range(BLOCKS))
        self.head = head(sizes.width, sizes.classes)
        self.draws = random.Random(0)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks[:self.draws.randint(BLOCKS // 2, BLOCKS)]:
            x = block(x)
        return self.head(x)


class EarlyExits(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.stem = nn.Conv2d(3, sizes.width, 3, stride=2, padding=1)
        self.blocks = nn.ModuleList(Residual(sizes.width, sizes.dropout) for _ in range(BLOCKS))
        self.heads = nn.ModuleDict({str(blocks): head(sizes.width, sizes.classes)
                                    for blocks in (*(blocks for blocks, _ in EXITS), BLOCKS)})

    def forward(self, x):
        spread = x.std().item()
        last = next((blocks for blocks, least in EXITS if spread >= least), BLOCKS)
        x = self.stem(x)
        for block in self.blocks[:last]:
            x = block(x)
        return self.heads[str(last)](x)


def images_of_some_contrast(sizes, generator):
    images, labels = image_inputs(sizes, generator)
    contrast = torch.tensor([0.5, 1.0, 2.0])[torch.randint(3, (1,), generator=generator)]
    return images * contrast, labels


def changing(build):
    defaults = Sizes(batch=32, image_size=112, classes=100, width=64, dropout=0.1)
    return Twin(build, images_of_some_contrast, (Stage(image_loss),), defaults, fresh=True)


TWINS = {
    "resnet18": image_twin(whole(torchvision.models.resnet18), 224, 64, batch=32),
    "efficientnet_b0": image_twin(efficientnet, 224, 32, batch=16),
    "vit_b_16": image_twin(vit, 224, 768, batch=8),
    "depth_drawn": changing(DepthDrawn),
    "early_exits": changing(EarlyExits),
}
