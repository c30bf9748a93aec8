// The gradients of one stage's tensors while its backward ops are being appended to a training graph.
//
// A tensor's gradient is the sum of its consumers' contributions. Backward ops visit the consumers first (in reverse
// forward order), and each consumer contributes. When the producer's turn comes, gradient() puts the contributions
// together. Gradients of slices wait until then, because slices that cover the tensor are concatenated instead of
// padded and added. Internal to autodiff; tensor ids given to it are those of the forward graph unless said otherwise.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/graph.hpp"

namespace sluice::graph {

class GradientTape {
 public:
  // `graph` starts with the forward graph's tensors, under the same ids.
  explicit GradientTape(Graph& graph) : graph_(graph), forward_tensors_(graph.tensors().size()) {}

  // Forgets all gradients. From here on, these parameters get gradients, and so does what `ops` compute from them.
  void begin_stage(std::span<const Op> ops, std::span<const TensorId> trained);

  bool needs(TensorId id) const { return needed_[as_index(id)]; }
  const Shape& shape(TensorId id) const { return graph_.tensor(id).shape; }

  // The whole gradient of a tensor, once all its consumers have contributed; nothing if none has. `at` is the op on
  // whose behalf ops are emitted to put it together.
  std::optional<TensorId> gradient(const Op& at, TensorId id);

  // Appends a backward op of `forward`'s layer. Its outputs are new tensors of these shapes, named after the op.
  std::vector<TensorId> emit(const Op& forward, OpKind kind, const Attributes& attributes, std::vector<TensorId> inputs,
                             const std::vector<Shape>& outputs);
  TensorId emit_one(const Op& forward, OpKind kind, const Attributes& attributes, std::vector<TensorId> inputs,
                    const Shape& output) {
    return emit(forward, kind, attributes, std::move(inputs), {output}).front();
  }

  // One contribution of `consumer` to the gradient of `to`. give(): a new tensor, which gets its name from `to`.
  // give_view(): the same, but a view of another tensor. share(): a tensor that is another tensor's gradient, too.
  void give(const Op& consumer, TensorId to, TensorId gradient);
  void give_view(const Op& consumer, TensorId to, TensorId gradient);
  void share(const Op& consumer, TensorId to, TensorId gradient);
  // The gradient of `consumer`'s output, a kSlice of `to`.
  void give_slice(const Op& consumer, TensorId to, TensorId gradient);
  // One contribution to the gradient of a weight that is used as in a dense op without bias: dy^T x, of rows x and dy.
  void give_product(TensorId to, TensorId x, TensorId dy);

  // Appends an op that adds to the gradients of `targets`, in place. It needs all of them to have a gradient already
  // that nobody else reads; otherwise it does nothing and returns false.
  bool accumulate(const Op& forward, OpKind kind, const Attributes& attributes, std::vector<TensorId> inputs,
                  const std::vector<TensorId>& targets);

  std::string distinct(const std::string& name);

 private:
  struct SliceGradient {
    Op consumer;
    TensorId gradient = 0;
  };
  struct Product {
    TensorId x = 0;
    TensorId dy = 0;
  };
  struct Total {
    std::optional<TensorId> sum;
    bool exclusive = false;  // nobody else reads the sum's tensor
    std::vector<SliceGradient> slices;
    std::vector<Product> products;
  };

  Total& total(TensorId id) { return totals_[as_index(id)]; }
  void name_after(TensorId gradient, TensorId of, const std::string& suffix);
  void add(const Op& consumer, TensorId to, TensorId gradient, bool exclusive);
  void join_slices(const Op& at, TensorId id);
  void join_products(const Op& at, TensorId id);
  TensorId join_rows(const Op& at, std::vector<TensorId> parts);

  Graph& graph_;
  const std::size_t forward_tensors_;
  std::vector<bool> needed_;   // by TensorId of the forward graph
  std::vector<Total> totals_;  // the same
  std::map<std::string, int> names_;
};

}  // namespace sluice::graph
