"""The models that both sides train, written out for PyTorch (Debian has no torchvision).

The same layers as in sluice/models: no dropout in VGG, a 1x1 convolution as shortcut where a residual block changes
the shape. Every model is a sequence of blocks; a block is what mode checkpoint recomputes.
"""

import torch
from torch import nn


def conv(inputs, outputs, kernel, stride=1, padding=None, bias=False):
    return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2 if padding is None else padding, bias=bias)


class Residual(nn.Module):
    """relu(body(x) + shortcut(x)); ReLUs in place, as PyTorch users write them."""

    def __init__(self, body, shortcut):
        super().__init__()
        self.body = body
        self.shortcut = shortcut

    def forward(self, x):
        return torch.relu_(self.body(x) + self.shortcut(x))


def projection(inputs, outputs, stride):
    if inputs == outputs and stride == 1:
        return nn.Identity()
    return nn.Sequential(conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))


def bottleneck(inputs, width, stride):
    body = nn.Sequential(
        conv(inputs, width, 1), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
        conv(width, width, 3, stride), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
        conv(width, 4 * width, 1), nn.BatchNorm2d(4 * width))
    return Residual(body, projection(inputs, 4 * width, stride))


def basic(inputs, width, stride):
    body = nn.Sequential(
        conv(inputs, width, 3, stride), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
        conv(width, width, 3), nn.BatchNorm2d(width))
    return Residual(body, projection(inputs, width, stride))


def resnet50(classes):
    blocks = [nn.Sequential(conv(3, 64, 7, 2), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
                            nn.MaxPool2d(3, stride=2, padding=1))]
    inputs = 64
    for width, count, first_stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for index in range(count):
            blocks.append(bottleneck(inputs, width, first_stride if index == 0 else 1))
            inputs = 4 * width
    blocks.append(nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes)))
    return nn.Sequential(*blocks)


def resnet32(classes):
    blocks = [nn.Sequential(conv(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(inplace=True))]
    inputs = 16
    for width, first_stride in ((16, 1), (32, 2), (64, 2)):
        for index in range(5):
            blocks.append(basic(inputs, width, first_stride if index == 0 else 1))
            inputs = width
    blocks.append(nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes)))
    return nn.Sequential(*blocks)


def vgg16(classes):
    blocks = []
    inputs = 3
    for width, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        stage = []
        for _ in range(count):
            stage += [conv(inputs, width, 3, bias=True), nn.ReLU(inplace=True)]
            inputs = width
        blocks.append(nn.Sequential(*stage, nn.MaxPool2d(2, 2)))
    blocks.append(nn.Sequential(nn.Flatten(), nn.Linear(512 * 7 * 7, 4096), nn.ReLU(inplace=True),
                                nn.Linear(4096, 4096), nn.ReLU(inplace=True), nn.Linear(4096, classes)))
    return nn.Sequential(*blocks)


# name: (constructor, image size, classes)
MODELS = {"resnet50": (resnet50, 224, 1000), "vgg16": (vgg16, 224, 1000), "resnet32": (resnet32, 32, 10)}
