"""torchvision's networks as sequences of blocks."""

import torchvision
from torch import nn

from .twin import image_twin


def head(*layers):
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), *layers)


def usual_width(sizes, width):
    if sizes.width != width:
        raise ValueError(f"torchvision's network has a width of {width}, not {sizes.width}")


def inception_v3(sizes):
    usual_width(sizes, 32)
    net = torchvision.models.inception_v3(weights=None, aux_logits=False, init_weights=False,
                                          num_classes=sizes.classes, dropout=sizes.dropout)
    blocks = [block for name, block in net.named_children() if name not in ("avgpool", "dropout", "fc")]
    return nn.Sequential(*blocks, head(net.dropout, net.fc))


def densenet121(sizes):
    net = torchvision.models.DenseNet(sizes.width, (6, 12, 24, 16), 2 * sizes.width, num_classes=sizes.classes)
    return nn.Sequential(*net.features, nn.ReLU(inplace=True), head(nn.Dropout(sizes.dropout), net.classifier))


def mobilenet_v2(sizes):
    net = torchvision.models.mobilenet_v2(weights=None, num_classes=sizes.classes, width_mult=sizes.width / 32,
                                          dropout=sizes.dropout)
    return nn.Sequential(*net.features, head(*net.classifier))


def squeezenet1_1(sizes):
    usual_width(sizes, 64)
    net = torchvision.models.squeezenet1_1(weights=None, num_classes=sizes.classes, dropout=sizes.dropout)
    return nn.Sequential(*net.features, nn.Sequential(*net.classifier, nn.Flatten()))


TWINS = {
    "inception_v3": image_twin(inception_v3, 299, 32, batch=8),
    "densenet121": image_twin(densenet121, 224, 32, batch=16),
    "mobilenet_v2": image_twin(mobilenet_v2, 224, 32, batch=32),
    "squeezenet1_1": image_twin(squeezenet1_1, 224, 64, batch=32),
}
