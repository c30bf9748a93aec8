"""ResNets and VGG, written out: their blocks are named and ordered as in sluice/models.

A 1x1 convolution is the shortcut where a residual block changes the shape; its parameters stand before those of the
block's last convolution. Every model is a sequence of blocks; a block is what mode checkpoint recomputes.
"""

import torch
from torch import nn

from .twin import image_twin


def conv(inputs, outputs, kernel, stride=1, bias=False):
    return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=bias)


class Residual(nn.Module):
    """relu(tail(head(x)) + shortcut(x)); ReLUs in place, as PyTorch users write them."""

    def __init__(self, head, shortcut, tail):
        super().__init__()
        self.head = head
        self.shortcut = shortcut
        self.tail = tail

    def forward(self, x):
        return torch.relu_(self.tail(self.head(x)) + self.shortcut(x))


def conv_norm(inputs, outputs, kernel, stride=1):
    return [conv(inputs, outputs, kernel, stride), nn.BatchNorm2d(outputs)]


def projection(inputs, outputs, stride):
    if inputs == outputs and stride == 1:
        return nn.Identity()
    return nn.Sequential(*conv_norm(inputs, outputs, 1, stride))


def bottleneck(inputs, width, stride):
    head = nn.Sequential(*conv_norm(inputs, width, 1), nn.ReLU(inplace=True),
                         *conv_norm(width, width, 3, stride), nn.ReLU(inplace=True))
    return Residual(head, projection(inputs, 4 * width, stride), nn.Sequential(*conv_norm(width, 4 * width, 1)))


def basic(inputs, width, stride):
    head = nn.Sequential(*conv_norm(inputs, width, 3, stride), nn.ReLU(inplace=True))
    return Residual(head, projection(inputs, width, stride), nn.Sequential(*conv_norm(width, width, 3)))


def classifier(inputs, classes):
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))


def resnet50(sizes):
    width = sizes.width
    blocks = [nn.Sequential(*conv_norm(3, width, 7, 2), nn.ReLU(inplace=True),
                            nn.MaxPool2d(3, stride=2, padding=1))]
    inputs = width
    for stage, count in enumerate((3, 4, 6, 3)):
        for index in range(count):
            blocks.append(bottleneck(inputs, width << stage, 2 if stage > 0 and index == 0 else 1))
            inputs = 4 * (width << stage)
    return nn.Sequential(*blocks, classifier(inputs, sizes.classes))


def cifar_resnet(sizes):
    blocks = [nn.Sequential(*conv_norm(3, sizes.width, 3), nn.ReLU(inplace=True))]
    inputs = sizes.width
    for stage in range(3):
        for index in range(sizes.depth):
            blocks.append(basic(inputs, sizes.width << stage, 2 if stage > 0 and index == 0 else 1))
            inputs = sizes.width << stage
    return nn.Sequential(*blocks, classifier(inputs, sizes.classes))


def vgg16(sizes):
    blocks = []
    inputs = 3
    for stage, count in enumerate((2, 2, 3, 3, 3)):
        width = sizes.width << min(stage, 3)
        layers = []
        for _ in range(count):
            layers += [conv(inputs, width, 3, bias=True), nn.ReLU(inplace=True)]
            inputs = width
        blocks.append(nn.Sequential(*layers, nn.MaxPool2d(2, 2)))
    hidden = 64 * sizes.width
    blocks.append(nn.Sequential(
        nn.Flatten(), nn.Linear(inputs * (sizes.image_size // 32) ** 2, hidden), nn.ReLU(inplace=True),
        nn.Dropout(sizes.dropout), nn.Linear(hidden, hidden), nn.ReLU(inplace=True), nn.Dropout(sizes.dropout),
        nn.Linear(hidden, sizes.classes)))
    return nn.Sequential(*blocks)


TWINS = {
    "resnet50": image_twin(resnet50, 224, 64),
    "resnet32": image_twin(cifar_resnet, 32, 16, depth=5, classes=10, batch=128),
    "vgg16": image_twin(vgg16, 224, 64, batch=8),
}
