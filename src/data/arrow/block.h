// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "thalweg/data/table.h"

namespace thalweg::data {

/// An allocator that keeps freed pages for a second: Arrow's own gives them back at once, and to get each row group's
/// pages anew takes longer than to decode it.
arrow::MemoryPool* decoding_pool();

bool is_list(const arrow::DataType& type);

/// Rows in the form of a batch: a tensor for each entry of inputs and targets.
struct Block {
  std::vector<Tensor> tensors;
  int64_t rows = 0;
  int64_t bytes() const;
};

using BlockPtr = std::shared_ptr<const Block>;

/// Makes blocks, and uses the memory of those that nobody holds any more for the next: fresh pages would cost more time
/// than what is done with them. Held by shared pointer, since blocks may outlive it.
class BlockMaker : public std::enable_shared_from_this<BlockMaker> {
 public:
  /// Keeps the memory of at most `keep` blocks that nobody uses. `where` is for errors.
  BlockMaker(const TableOptions& options, std::string where, size_t keep);

  /// To be called before the first block if there are columns of lists, with the first row: each is a tensor of its
  /// own, as wide as that list is long.
  void set_lists(const arrow::Table& first_row);

  /// Turns columns into rows. `first_row` is for errors. From any thread.
  BlockPtr make(const arrow::RecordBatch& columns, int64_t first_row);
  /// A block with nothing in it.
  std::shared_ptr<Block> allocate(int64_t rows);
  const std::vector<TensorColumns>& tensors() const { return tensors_; }
  /// Elements of a row of that tensor.
  int64_t width(size_t tensor) const { return widths_[tensor]; }
  const std::string& where() const { return where_; }

 private:
  Block take(int64_t rows);
  void give_back(Block block);

  const TableOptions options_;
  const std::vector<TensorColumns> tensors_;
  std::vector<int64_t> widths_;
  const std::string where_;
  const size_t keep_;
  std::mutex mutex_;
  std::vector<Block> unused_;
};

}  // namespace thalweg::data
