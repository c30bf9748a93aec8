// Batch normalization. Mean and variance are the two rows of the [2, C] stats tensor. With a fused ReLU, the mask is
// oneDNN's workspace: one bit per element, in the order of the data layout.
#include "sluice/exec/backends/onednn/primitive_kernel.hpp"

namespace sluice {
namespace {

using dnnl::batch_normalization_backward;
using dnnl::batch_normalization_forward;

dnnl::normalization_flags flags_of(const Attributes& attributes) {
  const auto flags = dnnl::normalization_flags::use_scale_shift;
  return attributes.relu ? flags | dnnl::normalization_flags::fuse_norm_relu : flags;
}

batch_normalization_forward::primitive_desc forward_desc(const Layout& x, const Attributes& attributes,
                                                         const dnnl::engine& engine) {
  return {{dnnl::prop_kind::forward_training, x, attributes.epsilon, flags_of(attributes)}, user_scratchpad(), engine};
}

// running = (1 - m) * running + m * batch, with the variance made unbiased, as PyTorch does.
void update_running(const float* stats, const float* old_running, float* running, const Shape& x, float momentum) {
  const std::int64_t channels = x[1];
  const auto count = static_cast<double>(element_count(x) / channels);
  const auto unbias = static_cast<float>(count > 1 ? count / (count - 1) : 1.0);
  for (std::int64_t i = 0; i < 2 * channels; ++i) {
    const float batch = i < channels ? stats[i] : stats[i] * unbias;
    running[i] = (1 - momentum) * old_running[i] + momentum * batch;
  }
}

Bytes variance_offset(const Shape& x) { return x[1] * size_of(DType::kF32); }

}  // namespace

KernelPtr make_batch_norm(const KernelRequest& request, const dnnl::engine& engine) {
  const OperandRequest& x = request.inputs[0];
  const Attributes attributes = request.attributes;
  const auto desc = forward_desc(x.layout.value_or(preferred_image_layout(x.shape)), attributes, engine);

  auto kernel = std::make_unique<PrimitiveKernel>(batch_normalization_forward(desc), desc, engine);
  kernel->inputs = plain_layouts(request.inputs);
  kernel->inputs[0] = desc.src_desc();
  kernel->outputs = plain_layouts(request.outputs);
  kernel->outputs[0] = desc.dst_desc();
  kernel->bind(DNNL_ARG_SRC, 0, desc.src_desc());
  kernel->bind(DNNL_ARG_SCALE_SHIFT, 1, desc.weights_desc());
  kernel->bind(DNNL_ARG_DST, 3, desc.dst_desc());
  kernel->bind(DNNL_ARG_MEAN, 4, desc.mean_desc());
  kernel->bind(DNNL_ARG_VARIANCE, 4, desc.variance_desc(), variance_offset(x.shape));
  if (attributes.relu) {
    kernel->outputs[3] = desc.workspace_desc();
    kernel->bind(DNNL_ARG_WORKSPACE, 6, desc.workspace_desc());
  }
  kernel->bind_scratchpad();
  kernel->then([shape = x.shape, momentum = attributes.momentum](std::span<void* const> operands) {
    update_running(static_cast<const float*>(operands[4]), static_cast<const float*>(operands[2]),
                   static_cast<float*>(operands[5]), shape, momentum);
  });
  return kernel;
}

KernelPtr make_batch_norm_backward(const KernelRequest& request, const dnnl::engine& engine) {
  const OperandRequest& x = request.inputs[0];
  const auto hint = forward_desc(x.layout.value_or(preferred_image_layout(x.shape)), request.attributes, engine);
  const Layout data = hint.src_desc();
  const batch_normalization_backward::primitive_desc desc(
      {dnnl::prop_kind::backward, data, data, request.attributes.epsilon, flags_of(request.attributes)},
      user_scratchpad(), engine, hint);

  auto kernel = std::make_unique<PrimitiveKernel>(batch_normalization_backward(desc), desc, engine);
  kernel->inputs = plain_layouts(request.inputs);
  kernel->inputs[0] = data;
  kernel->inputs[1] = desc.diff_dst_desc();
  kernel->outputs = plain_layouts(request.outputs);
  kernel->outputs[0] = desc.diff_src_desc();
  const std::size_t dx = request.inputs.size();
  kernel->bind(DNNL_ARG_SRC, 0, data);
  kernel->bind(DNNL_ARG_DIFF_DST, 1, desc.diff_dst_desc());
  kernel->bind(DNNL_ARG_SCALE_SHIFT, 2, desc.weights_desc());
  kernel->bind(DNNL_ARG_MEAN, 3, desc.mean_desc());
  kernel->bind(DNNL_ARG_VARIANCE, 3, desc.variance_desc(), variance_offset(x.shape));
  if (request.attributes.relu) {
    kernel->inputs[4] = desc.workspace_desc();
    kernel->bind(DNNL_ARG_WORKSPACE, 4, desc.workspace_desc());
  }
  kernel->bind(DNNL_ARG_DIFF_SRC, dx, desc.diff_src_desc());
  kernel->bind(DNNL_ARG_DIFF_SCALE_SHIFT, dx + 1, desc.diff_weights_desc());
  kernel->bind_scratchpad();
  return kernel;
}

}  // namespace sluice
