"""DCGAN: both networks, trained in two stages of one step."""

import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

from .twin import Sizes, Stage, Twin

NOISE_FEATURES = 100


def generator(width, doublings):
    layers = []
    inputs = NOISE_FEATURES
    for index in range(doublings):
        channels = width << (doublings - 1 - index)
        stride, padding = (1, 0) if index == 0 else (2, 1)
        layers += [nn.ConvTranspose2d(inputs, channels, 4, stride, padding, bias=False), nn.BatchNorm2d(channels),
                   nn.ReLU(inplace=True)]
        inputs = channels
    return nn.Sequential(*layers, nn.ConvTranspose2d(inputs, 3, 4, 2, 1, bias=False), nn.Tanh())


def discriminator(width, halvings):
    layers = []
    inputs = 3
    for index in range(halvings):
        channels = width << index
        layers.append(nn.Conv2d(inputs, channels, 4, 2, 1, bias=False))
        if index > 0:
            layers.append(nn.BatchNorm2d(channels))
        layers.append(nn.LeakyReLU(0.2, inplace=True))
        inputs = channels
    return nn.Sequential(*layers, nn.Conv2d(inputs, 1, 4, bias=False))


class Dcgan(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        doublings = sizes.image_size.bit_length() - 3
        self.discriminator = discriminator(sizes.width, doublings)
        self.generator = generator(sizes.width, doublings)
        self.fakes = None  # of the step's first stage
        for module in self.modules():
            if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
                nn.init.normal_(module.weight, 0.0, 0.02)


def inputs(sizes, random):
    images = torch.randn(sizes.batch, 3, sizes.image_size, sizes.image_size, generator=random)
    return images, torch.randn(sizes.batch, NOISE_FEATURES, 1, 1, generator=random)


def judged(model, images, target):
    logits = model.discriminator(images)
    return binary_cross_entropy_with_logits(logits, torch.full_like(logits, target))


def discriminator_loss(model, data):
    images, noise = data
    real = judged(model, images, 1.0)
    model.fakes = model.generator(noise)
    return real + judged(model, model.fakes.detach(), 0.0)


def generator_loss(model, _data):
    return judged(model, model.fakes, 1.0)


TWINS = {
    "dcgan": Twin(Dcgan, inputs, (Stage(discriminator_loss, "discriminator."), Stage(generator_loss, "generator.")),
                  Sizes(batch=128, image_size=64, width=64)),
}
