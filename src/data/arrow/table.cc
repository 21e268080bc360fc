// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/table.h"

#include <arrow/config.h>
#include <arrow/dataset/scanner.h>
#include <arrow/table.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "base/text.h"
#include "base/threads.h"
#include "data/arrow/block_store.h"
#include "data/arrow/files.h"
#include "data/arrow/numeric_csv.h"
#include "data/arrow/numeric_parquet.h"
#include "data/arrow/result.h"
#include "data/arrow/scan.h"
#include "data/rows.h"

namespace thalweg::data {
namespace {

namespace ds = arrow::dataset;

void check_options(const std::string& uri, const TableOptions& options, const std::vector<TensorColumns>& tensors) {
  TW_REQUIRE(!options.inputs.empty(), uri, ": no columns were chosen as inputs");
  for (const TensorColumns& tensor : tensors) {
    TW_REQUIRE(!tensor.columns.empty(), uri, ": a tensor of no columns");
    TW_REQUIRE(!tensor.flat || tensor.columns.size() == 1, uri, ": ", tensor.columns.size(),
               " columns cannot be a flat tensor");
    const bool whole = tensor.dtype == DType::kI32 || tensor.dtype == DType::kI64;
    const bool fits = options.fill == std::trunc(options.fill) && std::abs(options.fill) < 0x1p31;
    TW_REQUIRE(options.nulls == Nulls::kFail || !whole || fits, uri, ": nulls cannot be filled with ", options.fill,
               " where column '", tensor.columns.front(), "' becomes ", name_of(tensor.dtype));
  }
}

/// All columns that are read, each once.
ScanRequest request_of(const TableOptions& options, const std::vector<TensorColumns>& tensors) {
  std::set<std::string> names;
  for (const TensorColumns& tensor : tensors) names.insert(tensor.columns.begin(), tensor.columns.end());
  return {{names.begin(), names.end()}, options.filter};
}

/// Of tensors `first` to `first + count` of the blocks.
std::vector<TensorType> types_of(const BlockMaker& maker, size_t first, size_t count) {
  std::vector<TensorType> result;
  for (size_t i = first; i < first + count; ++i) {
    const TensorColumns& tensor = maker.tensors()[i];
    result.push_back({tensor.dtype, tensor.flat ? Shape{kFree} : Shape{kFree, maker.width(i)}});
  }
  return result;
}

/// `count` rows of a block from `from` on become rows of the batch from `to` on.
void copy_rows(const Block& block, int64_t from, int64_t count, const Batch& batch, int64_t to) {
  for (size_t i = 0; i < block.tensors.size(); ++i) {
    const Tensor& target = i < batch.inputs.size() ? batch.inputs[i] : batch.targets[i - batch.inputs.size()];
    const Tensor& source = block.tensors[i];
    std::memcpy(row_of(target, to), row_of(source, from), static_cast<size_t>(count) * row_bytes(source));
  }
}

}  // namespace

namespace {

/// What it takes to decode a row group. The threads that do so own it with the table: one that hangs may come back when
/// the table is gone.
struct GroupSource {
  std::shared_ptr<BlockMaker> maker;
  ScanRequest request;
  TableFiles files;
  /// On this machine.
  bool local = false;

  BlockPtr load(const RowGroup& group, int64_t first_row) const;
};

BlockPtr GroupSource::load(const RowGroup& group, int64_t first_row) const {
  if (local) {
    if (BlockPtr block = read_numeric_row_group(group, *maker)) return block;
  }
  ds::ScannerBuilder builder(files.dataset->schema(), group.fragment, std::make_shared<ds::ScanOptions>());
  const auto table = value_of(make_scanner(builder, request, false, files.uri)->ToTable(), files.uri);
  TW_REQUIRE(table->num_rows() == group.rows, files.uri, ": a row group promises ", group.rows, " rows, but holds ",
             table->num_rows());
  const auto batch = value_of(table->CombineChunksToBatch(), files.uri);
  return maker->make(*batch, first_row);
}

}  // namespace

class Table::Impl {
 public:
  Impl(const std::string& uri, const TableOptions& options)
      : options_(options),
        threads_(options.threads > 0 ? options.threads : available_processors()),
        maker_(std::make_shared<BlockMaker>(options, without_secrets(uri), static_cast<size_t>(threads_))) {
    check_options(maker_->where(), options, maker_->tensors());
    const FoundFiles found = find_files(uri, options);
    if (!read_plain_csv(found)) naming_columns(found, [&] { open(found); });
  }

  int64_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  std::vector<TensorType> input_types() const { return types_of(*maker_, 0, options_.inputs.size()); }
  std::vector<TensorType> target_types() const {
    return types_of(*maker_, options_.inputs.size(), options_.targets.size());
  }
  int64_t skipped_rows() const { return source_ != nullptr ? source_->files.skipped_rows->load() : 0; }
  void read(std::span<const int64_t> indices, const Batch& batch, int64_t row) const;
  std::optional<Batch> lend(std::span<const int64_t> indices) const;

 private:
  void open(const FoundFiles& found);
  void find_lists();
  void read_as_needed();
  bool read_plain_csv(const FoundFiles& found);
  void read_all();
  BlockPtr block(size_t number) const { return store_ != nullptr ? store_->get(number) : blocks_[number]; }
  size_t block_of(int64_t row) const {
    return static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), row) - ends_.begin());
  }
  int64_t begin_of(size_t number) const { return number == 0 ? 0 : ends_[number - 1]; }
  void add_end(int64_t rows) { ends_.push_back(size() + rows); }

  const TableOptions options_;
  const int threads_;
  const std::shared_ptr<BlockMaker> maker_;
  std::shared_ptr<const GroupSource> source_;  ///< null if read_plain_csv could do without
  std::vector<int64_t> ends_;                  ///< the row past the last of each block
  std::vector<BlockPtr> blocks_;
  std::unique_ptr<BlockStore> store_;
};

void Table::Impl::open(const FoundFiles& found) {
  const auto source = std::make_shared<GroupSource>();
  source->maker = maker_;
  source->request = request_of(options_, maker_->tensors());
  source->files = open_files(found, options_);
  source->local = found.are_local();
  source_ = source;
  check_columns(source->files, source->request);
  find_lists();
  if (source->files.format == TableFormat::kParquet && options_.filter.empty()) {
    read_as_needed();
  } else {
    read_all();
  }
}

void Table::Impl::find_lists() {
  const auto holds_lists = [&](const std::string& name) {
    return is_list(*source_->files.dataset->schema()->GetFieldByName(name)->type());
  };
  const std::vector<std::string>& columns = source_->request.columns;
  if (std::none_of(columns.begin(), columns.end(), holds_lists)) return;
  const std::string& uri = source_->files.uri;
  ds::ScannerBuilder builder(source_->files.dataset);
  maker_->set_lists(*value_of(make_scanner(builder, source_->request, false, uri)->Head(1), uri));
}

void Table::Impl::read_as_needed() {
  std::vector<RowGroup> groups = row_groups(source_->files);
  for (const RowGroup& group : groups) add_end(group.rows);
  BlockStore::Options store{groups.size(), static_cast<size_t>(threads_), options_.memory_bytes, options_.patience,
                            source_->files.uri};
  store_ = std::make_unique<BlockStore>(std::move(store),
                                        [source = source_, groups = std::move(groups), ends = ends_](size_t number) {
                                          return source->load(groups[number], ends[number] - groups[number].rows);
                                        });
}

/// False if the files are not CSV of plain numbers on this machine.
bool Table::Impl::read_plain_csv(const FoundFiles& found) {
  const bool possible = found.format == TableFormat::kCsv && options_.filter.empty() &&
                        options_.bad_rows == BadSample::kFail && found.are_local();
  if (!possible) return false;
  std::vector<BlockPtr> read;
  int64_t room = options_.memory_bytes;
  for (const arrow::fs::FileInfo& file : found.files) {
    const auto blocks = read_numeric_csv(file.path(), found.csv_separator, room, threads_, *maker_);
    if (!blocks) return false;
    for (const BlockPtr& block : *blocks) room -= block->bytes();
    read.insert(read.end(), blocks->begin(), blocks->end());
  }
  blocks_ = std::move(read);
  for (const BlockPtr& block : blocks_) add_end(block->rows);
  return true;
}

void Table::Impl::read_all() {
  const std::string& uri = source_->files.uri;
  ds::ScannerBuilder builder(source_->files.dataset);
  auto batches = value_of(make_scanner(builder, source_->request, true, uri)->ScanBatches(), uri);
  int64_t bytes = 0;
  for (;;) {
    const ds::TaggedRecordBatch tagged = value_of(batches.Next(), uri);
    if (arrow::IsIterationEnd(tagged)) break;
    if (tagged.record_batch->num_rows() == 0) continue;
    blocks_.push_back(maker_->make(*tagged.record_batch, size()));
    add_end(blocks_.back()->rows);
    bytes += blocks_.back()->bytes();
    TW_REQUIRE(bytes <= options_.memory_bytes, uri, ": what is to be read takes more than ",
               human_bytes(static_cast<double>(options_.memory_bytes)),
               " (TableOptions::memory_bytes); Parquet without a filter is read in parts");
  }
}

void Table::Impl::read(std::span<const int64_t> indices, const Batch& batch, int64_t row) const {
  for (size_t i = 0; i < indices.size();) {
    const int64_t index = indices[i];
    TW_REQUIRE(index >= 0 && index < size(), maker_->where(), ": ", size(), " rows, none has the number ", index);
    const size_t number = block_of(index);
    const BlockPtr current = block(number);
    const int64_t begin = begin_of(number), end = ends_[number];
    for (; i < indices.size() && indices[i] >= begin && indices[i] < end;) {
      // Rows that follow each other in the block as well as in the batch move together.
      const size_t first = i++;
      while (i < indices.size() && indices[i] == indices[i - 1] + 1 && indices[i] < end) ++i;
      copy_rows(*current, indices[first] - begin, static_cast<int64_t>(i - first), batch,
                row + static_cast<int64_t>(first));
    }
  }
}

std::optional<Batch> Table::Impl::lend(std::span<const int64_t> indices) const {
  const bool inside = !indices.empty() && indices.front() >= 0 && indices.back() < size();
  const auto gap = [](int64_t a, int64_t b) { return b != a + 1; };
  if (!inside || std::adjacent_find(indices.begin(), indices.end(), gap) != indices.end()) return {};
  const size_t number = block_of(indices.front());
  if (indices.back() >= ends_[number]) return {};
  const BlockPtr current = block(number);
  Batch batch;
  for (size_t i = 0; i < current->tensors.size(); ++i) {
    const Tensor& tensor = current->tensors[i];
    char* first = row_of(tensor, indices.front() - begin_of(number));
    // Kernels are quickest on memory that is aligned as that of tensors is.
    if (reinterpret_cast<uintptr_t>(first) % 64 != 0) return {};
    Shape shape{static_cast<int64_t>(indices.size())};
    if (!maker_->tensors()[i].flat) shape = Shape{shape[0], tensor.shape()[1]};
    auto& list = i < options_.inputs.size() ? batch.inputs : batch.targets;
    list.push_back(Tensor::borrow(tensor.dtype(), shape, first, std::const_pointer_cast<Block>(current)));
  }
  return batch;
}

Table::Table(const std::string& uri, const TableOptions& options) : impl_(std::make_shared<Impl>(uri, options)) {}
Table::~Table() = default;
int64_t Table::size() const { return impl_->size(); }
std::vector<TensorType> Table::input_types() const { return impl_->input_types(); }
std::vector<TensorType> Table::target_types() const { return impl_->target_types(); }
void Table::read(std::span<const int64_t> indices, const Draw& /*draw*/, const Batch& batch, int64_t row) const {
  const std::shared_ptr<Impl> impl = impl_;
  impl->read(indices, batch, row);
}
std::optional<Batch> Table::lend(std::span<const int64_t> indices) const {
  const std::shared_ptr<Impl> impl = impl_;
  return impl->lend(indices);
}
int64_t Table::skipped_rows() const { return impl_->skipped_rows(); }

TableSchema inspect_table(const std::string& uri, TableFormat format) {
  const TableOptions options{.inputs = {}, .format = format};
  const TableFiles files = open_files(find_files(uri, options), options);
  TableSchema result;
  for (const auto& field : files.dataset->schema()->fields()) {
    result.columns.push_back({field->name(), field->type()->ToString()});
  }
  result.files = static_cast<int64_t>(files.fragments.size());
  if (files.format == TableFormat::kParquet) {
    result.rows = 0;
    for (const RowGroup& group : row_groups(files)) result.rows += group.rows;
  }
  return result;
}

std::string arrow_version() { return arrow::GetBuildInfo().version_string; }

}  // namespace thalweg::data
