// The families of networks, one function each; options must be complete (no zeros) and in range.
#pragma once

#include <string>
#include <vector>

#include "sluice/models/model.hpp"

namespace sluice {

// He et al. 2015, section 4.2: 3x3 convolutions of 16, 32 and 64 channels, `blocks` basic blocks each. Where the shape
// changes the shortcut is a 1x1 convolution with batch norm (option B of the paper; its CIFAR runs use option A,
// zero padding, which has 2,752 parameters fewer at ResNet-20). Without `shortcuts` it is the paper's plain network.
Result<Graph> build_cifar_resnet(const std::string& name, const ModelOptions& options, int blocks, bool shortcuts);

struct ImageNetResnet {
  std::vector<int> blocks;  // a stage
  bool bottleneck = true;   // 1x1, 3x3, 1x1; else two 3x3
  bool preactivation = false;
};

// He et al. 2015, table 1, with the stride of a bottleneck in its 3x3 convolution (as torchvision has it; the paper has
// it in the first 1x1). `preactivation`: He et al. 2016, norm and ReLU before each convolution, the residual sum left
// as it is, one norm and ReLU at the end; the stem is a bare 7x7 convolution and a max pool. A projection shortcut
// reads the pre-activated input.
Result<Graph> build_imagenet_resnet(const std::string& name, const ModelOptions& options, const ImageNetResnet& net);

// Simonyan and Zisserman 2014: 3x3 convolutions with biases and ReLU, a stage's count in `convolutions`, a 2x2 max pool
// after each stage, three dense layers. No batch norm. No dropout: the result must not depend on random draws.
Result<Graph> build_vgg(const std::string& name, const ModelOptions& options, const std::vector<int>& convolutions);

}  // namespace sluice
