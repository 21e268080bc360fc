// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/aligned_buffer.h"
#include "runtime/layout.h"
#include "runtime/weight_block.h"
#include "tensor/stored_weight.h"
#include "thalweg/graph.h"

namespace thalweg {

/// The parameters and states of a model while programs run on it. Each lies in the layout that the first program
/// compiled for it asked for, and stays there: optimisers are elementwise and work on that layout. Plain tensors exist
/// only at the edges (`read`, `write`). What is stored elsewhere never changes: each program has it in the layouts that
/// it likes best (`arranged`).
///
/// Not synchronised. Programs that run concurrently may share one Variables as long as none of them, and no `write`,
/// changes it.
class Variables {
 public:
  /// Takes the data of all parameters and states out of `graph`.
  explicit Variables(Graph& graph);
  /// Parameters that stay where they are stored until a program rearranges them, or has them held for its runs.
  explicit Variables(std::vector<StoredWeight> weights);

  size_t size() const { return entries_.size(); }
  /// Throws if there is none of that name.
  size_t index(const std::string& name) const;
  bool contains(const std::string& name) const { return by_name_.count(name) > 0; }
  const std::string& name(size_t index) const { return entries_[index].name; }
  const TensorType& type(size_t index) const { return entries_[index].layout.type(); }
  const Layout& layout(size_t index) const { return entries_[index].layout; }
  /// The memory of an entry that is not stored elsewhere, or is held.
  void* data(size_t index) const;
  /// The content in its layout, valid as long as the pointer lives; fetched if it is stored elsewhere.
  std::shared_ptr<const void> borrow(size_t index) const;
  /// The content as a plain tensor for whoever only reads it and soon lets go of it: not copied if it lies plain.
  Tensor view(size_t index) const;
  bool stored_elsewhere(size_t index) const { return entries_[index].load != nullptr; }
  /// True if an entry is stored elsewhere, and so cannot be written to.
  bool stores_elsewhere() const;
  bool is_parameter(size_t index) const { return entries_[index].parameter; }

  /// True once a program depends on the layout.
  bool pinned(size_t index) const { return entries_[index].pinned; }
  /// Rearranges an entry that is not pinned yet.
  void adopt(size_t index, const Layout& layout);
  void pin(size_t index) { entries_[index].pinned = true; }
  /// The content of an entry that is stored elsewhere, as bytes in that layout. Programs that ask for the same share
  /// it, and it goes with the last of them.
  Tensor arranged(size_t index, const Layout& layout);
  /// What programs derived from entries that are stored elsewhere and from constants.
  SharedWeights& derived() { return derived_; }
  /// Keeps the content in memory from now on, as it is read by every run of some program.
  void hold(size_t index);

  Tensor read(size_t index) const;
  /// Throws if the type differs or the entry is stored elsewhere.
  void write(size_t index, const Tensor& value);

  /// Grows with every change of content; what is derived from the content compares it.
  uint64_t version() const { return version_; }
  void touch() { ++version_; }

 private:
  struct Entry {
    std::string name;
    Layout layout;
    AlignedBuffer buffer;
    /// Of an entry stored elsewhere; it has no buffer.
    std::function<Tensor()> load;
    /// What `load` gave, once it is held.
    Tensor held;
    /// In other layouts, as long as somebody has them.
    std::vector<std::pair<Layout, std::weak_ptr<AlignedBuffer>>> arranged = {};
    bool parameter = false;
    bool pinned = false;
  };
  void add(Value* value, bool parameter);
  void add(Entry entry);

  std::vector<Entry> entries_;
  std::unordered_map<std::string, size_t> by_name_;
  SharedWeights derived_;
  uint64_t version_ = 1;
};

/// Copies between two layouts of one logical value, converting the element type if it differs.
void reorder(const Layout& from, const void* source, const Layout& to, void* target);

}  // namespace thalweg
