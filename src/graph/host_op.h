// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "graph/op_registry.h"

namespace thalweg {

/// Attributes of nodes that hold graphs, which compute with values of the graph around them too: those are the last
/// inputs of the node, in a number that `kCaptures` says. For a graph in the attribute "body", "body" + `kCapturesOf`
/// lists which inputs of the node are the graph's own last inputs.
inline constexpr const char* kCaptures = "captures";
inline constexpr const char* kCapturesOf = ".captures";

/// Runs a graph that is an attribute of the node. `inputs` are those that the graph declares; what it captures is added
/// by the runner.
using BodyRunner = std::function<std::vector<Tensor>(const std::string& attribute, std::vector<Tensor> inputs)>;

/// What a rule has made of the attributes of a node, kept from run to run.
struct HostMemory {
  std::mutex mutex;
  std::shared_ptr<const void> made;
};

/// One execution of a node outside of any program: its operands are at hand, and its results may have any shape.
class HostContext {
 public:
  /// `inputs` has undefined tensors for absent inputs. `memory` belongs to the node.
  HostContext(const Node& node, std::vector<Tensor> inputs, BodyRunner run_body, HostMemory& memory)
      : node_(node), inputs_(std::move(inputs)), run_body_(std::move(run_body)), memory_(memory) {}

  const Attributes& attrs() const { return node_.attrs(); }
  bool has_attribute(const std::string& name) const { return attrs().has(name); }
  int64_t integer(const std::string& name, int64_t fallback) const { return attrs().integer(name, fallback); }
  bool flag(const std::string& name, bool fallback) const { return attrs().flag(name, fallback); }
  std::string text(const std::string& name, const std::string& fallback) const { return attrs().text(name, fallback); }
  std::vector<int64_t> integers(const std::string& name, const std::vector<int64_t>& fallback = {}) const {
    return attrs().integers(name, fallback);
  }

  /// Without those that graphs in attributes capture.
  size_t num_inputs() const { return inputs_.size() - static_cast<size_t>(attrs().integer(kCaptures, 0)); }
  bool has(size_t index) const { return index < num_inputs() && inputs_[index].defined(); }
  /// Throws if the input is absent.
  const Tensor& input(size_t index) const;
  /// The elements of an input as integers, whatever their type.
  std::vector<int64_t> content_integers(size_t index) const;
  /// The one element of an input, or `fallback` if it is absent; the same as an integer, exactly.
  double content_number(size_t index, double fallback) const;
  int64_t content_integer(size_t index, int64_t fallback) const;

  /// What `make` gives, which must follow from the attributes alone: it is asked in the first run only.
  template <typename T, typename Make>
  std::shared_ptr<const T> made_once(const Make& make) const {
    const std::lock_guard<std::mutex> lock(memory_.mutex);
    if (memory_.made == nullptr) memory_.made = std::make_shared<const T>(make());
    return std::static_pointer_cast<const T>(memory_.made);
  }

  /// Throws if the node has no such graph.
  const Graph& body(const std::string& attribute) const;
  std::vector<Tensor> run_body(const std::string& attribute, std::vector<Tensor> inputs) const {
    return run_body_(attribute, std::move(inputs));
  }

 private:
  const Node& node_;
  std::vector<Tensor> inputs_;
  BodyRunner run_body_;
  HostMemory& memory_;
};

}  // namespace thalweg
