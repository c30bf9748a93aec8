#include "sluice/models/model.hpp"

namespace sluice {

const std::vector<ModelEntry>& models() {
  static const std::vector<ModelEntry> entries = {
      {"resnet20", "CIFAR ResNet v1 (He 2015), 3 x 3 basic blocks, 1x1 projection shortcuts", 128, 32, 10},
      {"resnet32", "CIFAR ResNet v1 (He 2015), 3 x 5 basic blocks, 1x1 projection shortcuts", 128, 32, 10},
      {"resnet44", "CIFAR ResNet v1 (He 2015), 3 x 7 basic blocks, 1x1 projection shortcuts", 128, 32, 10},
      {"resnet56", "CIFAR ResNet v1 (He 2015), 3 x 9 basic blocks, 1x1 projection shortcuts", 128, 32, 10},
      {"resnet110", "CIFAR ResNet v1 (He 2015), 3 x 18 basic blocks, 1x1 projection shortcuts", 128, 32, 10},
      {"plain20", "ResNet-20 without its shortcuts, batch norm kept", 128, 32, 10},
      {"resnet18", "ImageNet ResNet v1, basic blocks 2,2,2,2", 32, 224, 1000},
      {"resnet34", "ImageNet ResNet v1, basic blocks 3,4,6,3", 32, 224, 1000},
      {"resnet50", "ImageNet ResNet v1, bottlenecks 3,4,6,3, stride in the 3x3", 32, 224, 1000},
      {"resnet101", "ImageNet ResNet v1, bottlenecks 3,4,23,3, stride in the 3x3", 32, 224, 1000},
      {"resnet152", "ImageNet ResNet v1, bottlenecks 3,8,36,3, stride in the 3x3", 32, 224, 1000},
      {"resnet200", "ImageNet ResNet v1, bottlenecks 3,24,36,3, stride in the 3x3", 32, 224, 1000},
      {"resnet50_v2", "ImageNet ResNet v2 (pre-activation, He 2016), bottlenecks 3,4,6,3", 32, 224, 1000},
      {"resnet101_v2", "ImageNet ResNet v2 (pre-activation, He 2016), bottlenecks 3,4,23,3", 32, 224, 1000},
      {"resnet152_v2", "ImageNet ResNet v2 (pre-activation, He 2016), bottlenecks 3,8,36,3", 32, 224, 1000},
      {"resnet200_v2", "ImageNet ResNet v2 (pre-activation, He 2016), bottlenecks 3,24,36,3", 32, 224, 1000},
      {"vgg11", "VGG configuration A, biases, no batch norm, no dropout", 32, 224, 1000},
      {"vgg16", "VGG configuration D, biases, no batch norm, no dropout", 32, 224, 1000},
      {"vgg19", "VGG configuration E, biases, no batch norm, no dropout", 32, 224, 1000},
  };
  return entries;
}

}  // namespace sluice
