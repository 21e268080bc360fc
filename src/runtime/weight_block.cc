// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/weight_block.h"

namespace thalweg {

Tensor SharedWeights::find(const std::string& name, size_t bytes) const {
  const auto found = places_.find(name);
  if (found == places_.end()) return {};
  const std::shared_ptr<WeightBlock> block = found->second.block.lock();
  if (block == nullptr || !block->made) return {};
  return Tensor::borrow(DType::kU8, {static_cast<int64_t>(bytes)},
                        static_cast<std::byte*>(block->memory.data()) + found->second.offset, block);
}

void SharedWeights::add(const std::string& name, const std::shared_ptr<WeightBlock>& block, size_t offset) {
  std::erase_if(places_, [](const auto& place) { return place.second.block.expired(); });
  places_[name] = {block, offset};
}

}  // namespace thalweg
