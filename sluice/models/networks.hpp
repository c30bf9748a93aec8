// The families of networks, one function each; options must be complete (no zeros where the network has the option) and
// in range.
#pragma once

#include <string>
#include <vector>

#include "sluice/models/model.hpp"

namespace sluice::models {

// He et al. 2015, section 4.2: 3x3 convolutions of `width`, 2 and 4 times as many channels, `depth` basic blocks each.
// Where the shape changes the shortcut is a 1x1 convolution with batch norm (option B of the paper; its CIFAR runs use
// option A, zero padding, which has 2,752 parameters fewer at ResNet-20). Without `shortcuts` it is the paper's plain
// network.
Result<graph::Graph> build_cifar_resnet(const std::string& name, const ModelOptions& options, bool shortcuts);

struct ImageNetResnet {
  std::vector<int> blocks;  // a stage
  bool bottleneck = true;   // 1x1, 3x3, 1x1; else two 3x3
  bool preactivation = false;
};

// He et al. 2015, table 1, with the stride of a bottleneck in its 3x3 convolution (as torchvision has it; the paper has
// it in the first 1x1). `preactivation`: He et al. 2016, norm and ReLU before each convolution, the residual sum left
// as it is, one norm and ReLU at the end; the stem is a bare 7x7 convolution and a max pool. A projection shortcut
// reads the pre-activated input.
Result<graph::Graph> build_imagenet_resnet(const std::string& name, const ModelOptions& options,
                                           const ImageNetResnet& net);

// Simonyan and Zisserman 2014: 3x3 convolutions with biases and ReLU (each stage has its count in `convolutions`, and
// `depth` more), a 2x2 max pool after each stage, three dense layers with dropout between them. No batch norm.
Result<graph::Graph> build_vgg(const std::string& name, const ModelOptions& options,
                               const std::vector<int>& convolutions);

// Szegedy et al. 2014, table 1, without the auxiliary classifiers: biases and local response norms, no batch norm.
Result<graph::Graph> build_googlenet(const std::string& name, const ModelOptions& options);

// Szegedy et al. 2015 ("Rethinking the Inception architecture") as torchvision has it, without the auxiliary
// classifier.
Result<graph::Graph> build_inception_v3(const std::string& name, const ModelOptions& options);

// Szegedy et al. 2016 ("Inception-v4, Inception-ResNet and the impact of residual connections"), figures 3 to 9.
Result<graph::Graph> build_inception_v4(const std::string& name, const ModelOptions& options);

// Huang et al. 2017, DenseNet-BC with growth `width` and `layers` of each dense block. A layer's input is made by a
// chain of concats of two: each is the one before and the last layer's result.
Result<graph::Graph> build_densenet(const std::string& name, const ModelOptions& options,
                                    const std::vector<int>& layers);

// Howard et al. 2017, table 1, ReLU.
Result<graph::Graph> build_mobilenet_v1(const std::string& name, const ModelOptions& options);

// Sandler et al. 2018, table 2, ReLU6, as torchvision has it.
Result<graph::Graph> build_mobilenet_v2(const std::string& name, const ModelOptions& options);

// Iandola et al. 2016, the authors' version 1.1 as torchvision has it. Pools round down, which is the same where the
// image size is 224.
Result<graph::Graph> build_squeezenet(const std::string& name, const ModelOptions& options);

// Zaremba et al. 2014: an embedding, `depth` LSTM layers and the output layer, not tied, dropout before and after each
// LSTM layer; next-token loss. The state starts at zero in every step (the paper carries it over from the last step).
Result<graph::Graph> build_lstm(const std::string& name, const ModelOptions& options);

// Devlin et al. 2018: post-layer-norm encoder with learned positions and segments, masked-token loss through a
// transform and the tied word embeddings with a bias. Without next-sentence loss and its pooler. As many positions as
// the sequence is long. One head per 64 features.
Result<graph::Graph> build_bert(const std::string& name, const ModelOptions& options);

// Radford et al. 2019: pre-layer-norm decoder with learned positions, next-token loss by the tied word embeddings.
// As many positions as the sequence is long. One head per 64 features.
Result<graph::Graph> build_gpt2(const std::string& name, const ModelOptions& options);

// Radford et al. 2015: a generator of transposed convolutions and a discriminator of strided ones, for images whose
// side is a power of two, 64 in the paper. One step has two stages: the discriminator learns from real images (target
// 1) and the generator's (target 0); then the generator learns from the discriminator's answer to the same fakes
// (target 1). The step's loss is the sum of the three losses. Weights start with a deviation of 0.02; norms at scale 1.
Result<graph::Graph> build_dcgan(const std::string& name, const ModelOptions& options);

}  // namespace sluice::models
