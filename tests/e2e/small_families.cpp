#include "tests/e2e/small_families.hpp"

namespace sluice::tests {
namespace {

train::WorkloadOptions images(const char* model, std::int64_t size, std::int64_t width) {
  return {.model = model, .shape = {.batch = 2, .image_size = size, .classes = 10, .width = width}};
}

train::WorkloadOptions text(const char* model, const models::ModelOptions& shape, graph::Optimizer optimizer) {
  return {.model = model, .shape = shape, .optimizer = {.optimizer = optimizer}};
}

}  // namespace

std::vector<Family> small_families() {
  return {
      Family{"resnet20", {.model = "resnet20", .shape = {.batch = 4}}},
      Family{"plain20", {.model = "plain20", .shape = {.batch = 4}}},
      Family{"inception_v3", images("inception_v3", 107, 8)},
      Family{"densenet121", images("densenet121", 32, 8)},
      Family{"mobilenet_v2", images("mobilenet_v2", 64, 8)},
      Family{"squeezenet1_1", images("squeezenet1_1", 64, 16)},
      Family{"googlenet", images("googlenet", 64, 16)},
      Family{"dcgan", {.model = "dcgan", .shape = {.batch = 4, .image_size = 32, .width = 8}}},
      Family{"lstm", text("lstm", {.batch = 4, .classes = 200, .sequence = 10, .width = 64, .depth = 2},
                          graph::Optimizer::kSgd)},
      Family{"bert_base", text("bert_base", {.batch = 2, .classes = 200, .sequence = 32, .width = 64, .depth = 2},
                               graph::Optimizer::kAdamW)},
      // On CPUs without bf16 these four are fp32 again.
      Family{"mobilenet_v2_bf16",
             {.model = "mobilenet_v2",
              .shape = {.batch = 2, .image_size = 64, .classes = 10, .width = 8},
              .precision = graph::Precision::kBF16}},
      Family{"bert_base_bf16",
             {.model = "bert_base",
              .shape = {.batch = 2, .classes = 200, .sequence = 32, .width = 64, .depth = 2},
              .optimizer = {.optimizer = graph::Optimizer::kAdam},
              .precision = graph::Precision::kBF16}},
      Family{"mobilenet_v2_masters",
             {.model = "mobilenet_v2",
              .shape = {.batch = 2, .image_size = 64, .classes = 10, .width = 8},
              .precision = graph::Precision::kBF16Masters}},
      Family{"bert_base_masters",
             {.model = "bert_base",
              .shape = {.batch = 2, .classes = 200, .sequence = 32, .width = 64, .depth = 2},
              .optimizer = {.optimizer = graph::Optimizer::kAdamW, .clip_norm = 0.5F},
              .precision = graph::Precision::kBF16Masters}},
      Family{"mobilenet_v2_fp16",
             {.model = "mobilenet_v2",
              .shape = {.batch = 2, .image_size = 64, .classes = 10, .width = 8},
              .precision = graph::Precision::kF16Masters}},
      Family{"lstm_fp16",
             {.model = "lstm",
              .shape = {.batch = 4, .classes = 200, .sequence = 10, .width = 64, .depth = 2},
              .precision = graph::Precision::kF16Masters}},
      Family{"gpt2_small_accumulated",
             {.model = "gpt2_small",
              .shape = {.batch = 1, .classes = 200, .sequence = 32, .width = 64, .depth = 2, .dropout = 0.1F},
              .optimizer = {.optimizer = graph::Optimizer::kAdamW, .clip_norm = 0.5F, .accumulate = 3},
              .precision = graph::Precision::kBF16Masters}},
      Family{"resnet20_accumulated",
             {.model = "resnet20", .shape = {.batch = 2, .width = 8}, .optimizer = {.delayed = true, .accumulate = 2}}},
      Family{"gpt2_small", text("gpt2_small", {.batch = 2, .classes = 200, .sequence = 32, .width = 64, .depth = 2},
                                graph::Optimizer::kAdam)},
  };
}

}  // namespace sluice::tests
