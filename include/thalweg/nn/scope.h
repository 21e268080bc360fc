// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/graph.h"
#include "thalweg/nn/init.h"

namespace thalweg::nn {

/// A place in a model that is being built: the graph, a dotted path such as "layer1.0.conv1", and the seed from which
/// parameters and dropout masks are drawn. A small value: copy it freely.
class Scope {
 public:
  explicit Scope(Graph& graph, uint64_t seed = 0) : graph_(&graph), seed_(seed) {}

  Scope sub(const std::string& name) const;
  Scope sub(size_t index) const { return sub(std::to_string(index)); }
  /// The same place, where a parameter that exists already is used again instead of being an error: a layer applied
  /// twice shares its weights.
  Scope reuse() const;

  Graph& graph() const { return *graph_; }
  /// Empty at the top.
  const std::string& path() const { return path_; }
  uint64_t seed() const { return seed_; }
  /// The path with `local` appended.
  std::string name(const std::string& local) const;

  /// A parameter called name(local).
  Value* parameter(const std::string& local, const Shape& shape, const init::Initializer& initializer) const;
  Value* state(const std::string& local, const Shape& shape, double value) const;
  /// A seed for random ops here, different for every path.
  int64_t random_seed() const;

  /// Throws an Error that begins with the path and `layer`.
  template <typename... Parts>
  void require(bool condition, const char* layer, const Parts&... parts) const {
    if (!condition) [[unlikely]]
      raise(path_, path_.empty() ? "" : ": ", layer, ": ", parts...);
  }

 private:
  Graph* graph_;
  std::string path_;
  uint64_t seed_;
  bool reuse_ = false;
};

/// One number for every spatial dimension, or one each.
class Size {
 public:
  Size(int64_t all) : values_{all} {}  // NOLINT: `.padding = 2` is the point
  Size(int all) : values_{all} {}      // NOLINT
  Size(std::initializer_list<int64_t> values) : values_(values) {}
  explicit Size(std::vector<int64_t> values) : values_(std::move(values)) {}

  /// Exactly `rank` numbers; throws if as many were not given.
  std::vector<int64_t> expand(int rank, const char* what) const;
  /// As they were given.
  const std::vector<int64_t>& values() const { return values_; }

 private:
  std::vector<int64_t> values_;
};

}  // namespace thalweg::nn
