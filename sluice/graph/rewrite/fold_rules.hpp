// The rules behind fold(). Each rule looks at one living op, changes the graph if it can, and says whether it did.
#pragma once

#include "sluice/graph/rewrite/rewrite.hpp"

namespace sluice::graph {

// Activations: fold_activations.cpp. `index` is the concat, the max pool, the activation or the addition.
bool sink_activations(GraphRewrite& graph, OpIndex index);
bool sink_below_max_pool(GraphRewrite& graph, OpIndex index);
bool fold_activation(GraphRewrite& graph, OpIndex index);
bool fold_residual(GraphRewrite& graph, OpIndex index);

// Views: fold_views.cpp. `index` is the second of the two, or the only one.
bool fold_transposes(GraphRewrite& graph, OpIndex index);
bool fold_still_transpose(GraphRewrite& graph, OpIndex index);
bool fold_reshape(GraphRewrite& graph, OpIndex index);

// Products: fold_products.cpp. `index` is the transpose or the factor.
bool fold_transpose_into_products(GraphRewrite& graph, OpIndex index);
bool fold_transpose_of_product(GraphRewrite& graph, OpIndex index);
bool fold_factor(GraphRewrite& graph, OpIndex index);

}  // namespace sluice::graph
