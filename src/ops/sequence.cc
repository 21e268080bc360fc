// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Lists of tensors, which the host alone holds.
#include <algorithm>
#include <numeric>

#include "base/limits.h"
#include "graph/host_op.h"
#include "ops/host_arrays.h"
#include "thalweg/stored_types.h"

namespace thalweg {
namespace {

using stored::items_of;

/// Parts that a file may ask for.
constexpr int64_t kMostParts = 1 << 20;

std::vector<Tensor> empty(const HostContext& /*call*/) { return {stored::sequence({})}; }

std::vector<Tensor> construct(const HostContext& call) {
  std::vector<Tensor> items;
  for (size_t i = 0; i < call.num_inputs(); ++i) items.push_back(call.input(i));
  return {stored::sequence(std::move(items))};
}

/// A place in the list that input 1 says, or the last one; `beyond` is 1 if it may be the end.
size_t place_of(const HostContext& call, size_t index, size_t length, int64_t beyond) {
  const auto size = static_cast<int64_t>(length);
  const int64_t given = call.content_integer(index, beyond > 0 ? size : -1);
  const int64_t place = given < 0 ? given + size : given;
  TW_REQUIRE(place >= 0 && place < size + beyond, "position ", given, " lies outside of a sequence of ", size);
  return static_cast<size_t>(place);
}

std::vector<Tensor> at(const HostContext& call) {
  const std::vector<Tensor>& items = items_of(call.input(0));
  return {items[place_of(call, 1, items.size(), 0)]};
}

std::vector<Tensor> insert(const HostContext& call) {
  std::vector<Tensor> items = items_of(call.input(0));
  require_memory((items.size() + 1) * sizeof(Tensor));
  const size_t place = place_of(call, 2, items.size(), 1);
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(place), call.input(1));
  return {stored::sequence(std::move(items))};
}

std::vector<Tensor> erase(const HostContext& call) {
  std::vector<Tensor> items = items_of(call.input(0));
  const size_t place = place_of(call, 1, items.size(), 0);
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(place));
  return {stored::sequence(std::move(items))};
}

std::vector<Tensor> length(const HostContext& call) {
  return {Tensor::scalar<int64_t>(static_cast<int64_t>(items_of(call.input(0)).size()))};
}

/// The sizes of the parts: given one by one, or all alike but for a smaller last one.
std::vector<int64_t> part_sizes(const HostContext& call, int64_t whole) {
  if (call.has(1) && call.input(1).shape().rank() == 1) {
    std::vector<int64_t> sizes = call.content_integers(1);
    int64_t left = whole;
    for (const int64_t size : sizes) {
      TW_REQUIRE(size >= 0 && size <= left, "parts of other sizes than make up ", whole);
      left -= size;
    }
    TW_REQUIRE(left == 0, "parts of other sizes than make up ", whole);
    return sizes;
  }
  const int64_t each = call.content_integer(1, 1);
  TW_REQUIRE(each > 0 && whole / each < kMostParts, "cannot split ", whole, " into parts of ", each);
  std::vector<int64_t> sizes;
  for (int64_t left = whole; left > 0; left -= each) sizes.push_back(std::min(each, left));
  return sizes;
}

std::vector<Tensor> split(const HostContext& call) {
  const Tensor& x = call.input(0);
  const int axis = checked_axis(call.integer("axis", 0), x.shape().rank());
  const bool squeezes = !call.has(1) && !call.flag("keepdims", true);
  std::vector<Tensor> parts;
  int64_t begin = 0;
  for (const int64_t size : part_sizes(call, x.shape()[axis])) {
    std::vector<int64_t> kept(static_cast<size_t>(size));
    std::iota(kept.begin(), kept.end(), begin);
    begin += size;
    Tensor part = take(x, axis, kept);
    std::vector<int64_t> dims = part.shape().dims();
    if (squeezes) dims.erase(dims.begin() + axis);
    parts.push_back(part.reshaped(Shape(std::move(dims))));
  }
  return {stored::sequence(std::move(parts))};
}

std::vector<Tensor> concat(const HostContext& call) {
  const std::vector<Tensor>& items = items_of(call.input(0));
  TW_REQUIRE(!items.empty(), "the sequence is empty");
  const bool new_axis = call.flag("new_axis", false);
  const int rank = items[0].shape().rank() + (new_axis ? 1 : 0);
  const int axis = checked_axis(call.integer("axis", 0), rank);
  return {new_axis ? stack(items, axis) : join(items, axis)};
}

/// Runs its body for each item of the first sequence; other inputs are sequences of as many, or the same for all.
std::vector<Tensor> map(const HostContext& call) {
  const size_t count = items_of(call.input(0)).size();
  std::vector<std::vector<Tensor>> results(call.body("body").outputs().size());
  for (size_t i = 0; i < count; ++i) {
    std::vector<Tensor> inputs;
    for (size_t k = 0; k < call.num_inputs(); ++k) {
      const Tensor& given = call.input(k);
      if (given.dtype() != stored::kSequence) {
        inputs.push_back(given);
        continue;
      }
      TW_REQUIRE(items_of(given).size() == count, "sequences of ", count, " and ", items_of(given).size(), " items");
      inputs.push_back(items_of(given)[i]);
    }
    const std::vector<Tensor> made = call.run_body("body", std::move(inputs));
    for (size_t o = 0; o < results.size(); ++o) results[o].push_back(made[o]);
  }
  std::vector<Tensor> sequences;
  for (auto& items : results) sequences.push_back(stored::sequence(std::move(items)));
  return sequences;
}

/// A value of any kind passes through; numbers do so in programs.
std::vector<Tensor> identity(const HostContext& call) { return {call.input(0)}; }

const RegisterHost kEmpty("onnx.SequenceEmpty", empty);
const RegisterHost kConstruct("onnx.SequenceConstruct", construct);
const RegisterHost kAt("onnx.SequenceAt", at);
const RegisterHost kInsert("onnx.SequenceInsert", insert);
const RegisterHost kErase("onnx.SequenceErase", erase);
const RegisterHost kLength("onnx.SequenceLength", length);
const RegisterHost kSplit("onnx.SplitToSequence", split);
const RegisterHost kConcat("onnx.ConcatFromSequence", concat);
const RegisterHost kMap("onnx.SequenceMap", map);
const RegisterHost kIdentity("onnx.Identity", identity);

}  // namespace
}  // namespace thalweg
