// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "thalweg/data/dataset.h"
#include "thalweg/data/image.h"
#include "thalweg/data/transforms.h"

namespace thalweg::data {

/// What every row has one of.
struct RowField {
  enum class Role {
    kInput,
    kTarget,
    kName  ///< what messages call the row, such as the path of its image; goes into no batch
  };
  enum class Kind {
    kTensor,  ///< `type.shape` is that of one row; [] is a single number
    kImage,   ///< bytes of an image file, decoded as `decode` says and put through `pipeline` when the row is read
    kText     ///< for names only
  };
  std::string name;
  Role role = Role::kInput;
  Kind kind = Kind::kTensor;
  TensorType type = {};
  Pipeline pipeline = {};
  DecodeOptions decode = {};
};

struct RowStoreOptions {
  /// Rows beyond that go to a file.
  int64_t memory_bytes = int64_t{4} << 30;
  /// Where the file is, which has no name and so is gone with the process. Empty: rows beyond memory_bytes are an
  /// error.
  std::string directory = "";
};

/// Rows, column by column, as they are handed over.
struct RowChunk {
  struct Column {
    /// Of a tensor: the rows one after another. Otherwise the bytes of all rows, of which `offsets` says where each
    /// begins; it has one entry more than there are rows.
    std::span<const std::byte> bytes;
    std::span<const uint64_t> offsets = {};
  };
  int64_t rows = 0;
  /// One for each field.
  std::vector<Column> columns;
};

/// Rows that come from elsewhere, from another process or another worker, kept for as many epochs as it takes. Filled
/// by one thread, then read by any number.
class RowStore : public Dataset {
 public:
  explicit RowStore(std::vector<RowField> fields, const RowStoreOptions& options = {});
  ~RowStore() override;

  /// Copies the rows. Throws Error naming the field whose size is not that of so many rows.
  void append(const RowChunk& chunk);
  /// Numbers the rows that came so far anew, by their content: which number a row has then no longer depends on the
  /// order in which they came. Clusters that read a part of their data again may find it in another order. Throws Error
  /// soon after `cancelled`, if there is one, is set.
  void arrange(const std::atomic<bool>* cancelled = nullptr);
  /// All rows that came.
  int64_t num_rows() const;
  /// Only the first `rows` are samples of this dataset, until the next call; at first all are.
  void show(int64_t rows);
  int64_t memory_bytes() const;
  int64_t disk_bytes() const;

  /// Rows in the form in which they travel to another store with the same fields, about `most_bytes` of them or one
  /// row; `rows` becomes how many these are.
  std::vector<std::byte> pack(int64_t first, int64_t& rows, size_t most_bytes) const;
  /// Appends what another store has packed. Throws Error if it is something else.
  void append_packed(std::span<const std::byte> packed);

  int64_t size() const override;
  std::vector<TensorType> input_types() const override;
  std::vector<TensorType> target_types() const override;
  void read(std::span<const int64_t> indices, const Draw& draw, const Batch& batch, int64_t row) const override;
  bool is_costly() const override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace thalweg::data
