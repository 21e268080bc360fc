// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "passes/absorb_padding.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "ops/ids.h"
#include "ops/window.h"
#include "passes/rewrite.h"

namespace thalweg {
namespace {

/// What the node takes for the margins of its input.
double margin_of(const Node& node) {
  return node.op_name() == op::kConv ? 0.0 : -std::numeric_limits<double>::infinity();
}

/// The pads of a window, beginnings first, for the margin that `pad` adds; nothing if that is not one of spatial
/// dimensions alone with the same content.
std::vector<int64_t> joined_pads(const Node& pad, const Node& node) {
  if (pad.op_name() != op::kPad || pad.attrs().text("mode") != "constant") return {};
  // A maximum pool never takes what is lower than all numbers either.
  const double value = pad.attrs().real("value");
  const bool lowest = value <= static_cast<double>(std::numeric_limits<float>::lowest());
  if (value != margin_of(node) && !(lowest && node.op_name() == op::kMaxPool)) return {};
  const std::vector<int64_t> margin = pad.attrs().integers("pads");
  const size_t rank = margin.size() / 2;
  if (rank < 3 || std::any_of(margin.begin(), margin.end(), [](int64_t width) { return width < 0; })) return {};
  for (const size_t d : {size_t{0}, size_t{1}, rank, rank + 1}) {
    if (margin[d] != 0) return {};
  }
  const size_t spatial = rank - 2;
  const Window window = read_window(node.attrs(), std::vector<int64_t>(spatial, 1));
  std::vector<int64_t> result;
  for (size_t d = 0; d < 2 * spatial; ++d) {
    const bool end = d >= spatial;
    const int64_t own = end ? window.ends[d - spatial] : window.begins[d];
    result.push_back(own + margin[end ? rank + 2 + d - spatial : 2 + d]);
    if (result.back() > kMostWindow) return {};
  }
  return result;
}

/// Every window sees some of the input: a pool's would be empty otherwise, and convolutions are not made for it.
bool windows_see_the_input(const Node& node, const std::vector<int64_t>& pads) {
  const bool conv = node.op_name() == op::kConv;
  if (!conv && (node.attrs().has("output_size") || node.attrs().flag("ceil_mode"))) return false;
  const Window window =
      read_window(node.attrs(), conv ? spatial_dims(node.input(1)->shape()) : node.attrs().integers("kernel"));
  for (size_t d = 0; d < pads.size(); ++d) {
    const size_t dimension = d % window.rank();
    if (window.kernel[dimension] == kFree || pads[d] >= window.reach(dimension)) return false;
  }
  return true;
}

void absorb(Graph& graph, Node* node) {
  const Node* pad = node->input(0)->producer();
  if (pad == nullptr) return;
  const std::vector<int64_t> pads = joined_pads(*pad, *node);
  if (pads.empty() || !windows_see_the_input(*node, pads)) return;
  std::vector<Value*> inputs = node->inputs();
  inputs[0] = pad->input(0);
  // Both together, as shapes are inferred anew from them.
  rewrite_at(graph, *node, [&] {
    Attributes attrs = node->attrs();
    attrs.set("pads", pads);
    return graph.add(node->op_name(), inputs, attrs, node->name())->output();
  });
}

/// A pool's places of the maxima count in the padded input.
bool is_candidate(const Graph& graph, const Node& node) {
  if (node.op_name() == op::kConv) return true;
  if (node.op_name() != op::kMaxPool) return false;
  return graph.consumers(node.output(1)).empty() && !graph.is_output(node.output(1));
}

}  // namespace

void absorb_padding(Graph& graph) {
  for (Node* node : list_nodes(graph)) {
    if (is_candidate(graph, *node)) absorb(graph, node);
  }
  graph.remove_dead_nodes();
}

}  // namespace thalweg
