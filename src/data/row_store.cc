// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/row_store.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>

#include "data/image/codec.h"
#include "data/row_memory.h"
#include "data/rows.h"

namespace thalweg::data {
namespace {

TensorType with_rows(const TensorType& row) {
  std::vector<int64_t> dims = row.shape.dims();
  dims.insert(dims.begin(), kFree);
  return {row.dtype, Shape(dims)};
}

/// Where one column of some rows lies: of fixed size each, or with offsets.
struct StoredColumn {
  const std::byte* bytes = nullptr;
  const uint64_t* offsets = nullptr;

  std::span<const std::byte> row(int64_t index, size_t row_bytes) const {
    const auto i = static_cast<size_t>(index);
    if (offsets == nullptr) return {bytes + i * row_bytes, row_bytes};
    return {bytes + offsets[i], offsets[i + 1] - offsets[i]};
  }
};

/// Rows that were appended together.
struct Segment {
  int64_t first = 0;
  int64_t rows = 0;
  std::vector<StoredColumn> columns;
};

/// Spreads a change of any bit over all of them; the finaliser of splitmix64.
uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

constexpr size_t kAlignment = 64;
size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

class RowStore::Impl {
 public:
  Impl(std::vector<RowField> fields, const RowStoreOptions& options)
      : fields_(std::move(fields)), memory_(options.memory_bytes, options.directory) {
    for (RowField& field : fields_) add_field(field);
    TW_REQUIRE(!input_types_.empty(), "rows need at least one input");
  }

  void append(const RowChunk& chunk);
  void arrange(const std::atomic<bool>* cancelled);
  std::vector<std::byte> pack(int64_t first, int64_t& rows, size_t most_bytes) const;
  void append_packed(std::span<const std::byte> packed);
  void read(int64_t index, const Draw& draw, const Batch& batch, int64_t row) const;

  std::vector<TensorType> input_types_, target_types_;
  int64_t rows_ = 0;
  /// Of these, samples; -1: all.
  int64_t shown_ = -1;
  bool has_images_ = false;
  const RowMemory& memory() const { return memory_; }
  int64_t shown() const { return shown_ < 0 ? rows_ : shown_; }

 private:
  void add_field(RowField& field);
  void check(const RowChunk& chunk) const;
  void check_offsets(const RowField& field, const RowChunk::Column& column, int64_t rows) const;
  const Segment& segment_of(int64_t place) const;
  /// Where the row of this number came.
  int64_t place_of(int64_t number) const {
    const auto index = static_cast<size_t>(number);
    return index < order_.size() ? order_[index] : number;
  }
  uint64_t hash_of(int64_t place) const;
  /// By their bytes.
  bool is_less(int64_t left, int64_t right) const;
  /// What messages call a row.
  std::string name_of_row(const Segment& segment, int64_t within) const;

  std::vector<RowField> fields_;
  /// 0 for fields whose rows differ in size.
  std::vector<size_t> row_bytes_;
  RowMemory memory_;
  std::vector<Segment> segments_;
  /// The place of each of the rows that were arranged.
  std::vector<int64_t> order_;
};

void RowStore::Impl::add_field(RowField& field) {
  TW_REQUIRE((field.role == RowField::Role::kName) == (field.kind == RowField::Kind::kText), "field '", field.name,
             "': names are texts, and texts are names");
  row_bytes_.push_back(0);
  if (field.kind == RowField::Kind::kText) return;
  if (field.kind == RowField::Kind::kImage) {
    has_images_ = true;
    field.type = field.pipeline.output_type(channels_of(field.decode.color));
  } else {
    TW_REQUIRE(field.type.shape.is_static(), "field '", field.name, "' has rows of unknown shape ", field.type.shape);
    row_bytes_.back() = static_cast<size_t>(field.type.shape.num_elements()) * size_of(field.type.dtype);
  }
  auto& types = field.role == RowField::Role::kInput ? input_types_ : target_types_;
  types.push_back(with_rows(field.type));
}

void RowStore::Impl::check(const RowChunk& chunk) const {
  TW_REQUIRE(chunk.columns.size() == fields_.size(), "rows have ", fields_.size(), " fields, got ",
             chunk.columns.size());
  TW_REQUIRE(chunk.rows >= 0, "there cannot be ", chunk.rows, " rows");
  for (size_t i = 0; i < fields_.size(); ++i) {
    const RowChunk::Column& column = chunk.columns[i];
    if (fields_[i].kind != RowField::Kind::kTensor) {
      check_offsets(fields_[i], column, chunk.rows);
      continue;
    }
    const bool fits = row_bytes_[i] == 0 ? column.bytes.empty()
                                         : column.bytes.size() % row_bytes_[i] == 0 &&
                                               column.bytes.size() / row_bytes_[i] == static_cast<size_t>(chunk.rows);
    TW_REQUIRE(fits, "field '", fields_[i].name, "': ", chunk.rows, " rows of ", row_bytes_[i], " bytes expected, got ",
               column.bytes.size(), " bytes");
  }
}

void RowStore::Impl::check_offsets(const RowField& field, const RowChunk::Column& column, int64_t rows) const {
  TW_REQUIRE(column.offsets.size() == static_cast<size_t>(rows) + 1, "field '", field.name, "': ", rows, " rows need ",
             rows + 1, " offsets, got ", column.offsets.size());
  TW_REQUIRE(column.offsets.front() == 0 && column.offsets.back() == column.bytes.size() &&
                 std::is_sorted(column.offsets.begin(), column.offsets.end()),
             "field '", field.name, "': the offsets do not lie within its ", column.bytes.size(), " bytes");
}

void RowStore::Impl::append(const RowChunk& chunk) {
  check(chunk);
  if (chunk.rows == 0) return;
  size_t bytes = 0;
  for (const RowChunk::Column& column : chunk.columns) {
    bytes += aligned(column.bytes.size()) + aligned(column.offsets.size_bytes());
  }
  std::byte* free = memory_.take(bytes);
  Segment segment{rows_, chunk.rows, {}};
  const auto keep = [&](const void* data, size_t size) {
    std::byte* begin = free;
    if (size > 0) std::memcpy(begin, data, size);
    free += aligned(size);
    return begin;
  };
  for (const RowChunk::Column& column : chunk.columns) {
    StoredColumn& stored = segment.columns.emplace_back();
    stored.bytes = keep(column.bytes.data(), column.bytes.size());
    if (!column.offsets.empty()) {
      stored.offsets = reinterpret_cast<const uint64_t*>(keep(column.offsets.data(), column.offsets.size_bytes()));
    }
  }
  segments_.push_back(std::move(segment));
  rows_ += chunk.rows;
}

const Segment& RowStore::Impl::segment_of(int64_t place) const {
  TW_REQUIRE(place >= 0 && place < rows_, "there are ", rows_, " rows, none of number ", place);
  const auto after = std::upper_bound(segments_.begin(), segments_.end(), place,
                                      [](int64_t value, const Segment& segment) { return value < segment.first; });
  return *std::prev(after);
}

uint64_t RowStore::Impl::hash_of(int64_t place) const {
  const Segment& segment = segment_of(place);
  uint64_t hash = 0;
  for (size_t i = 0; i < fields_.size(); ++i) {
    const auto row = segment.columns[i].row(place - segment.first, row_bytes_[i]);
    hash = mix(hash ^ std::hash<std::string_view>()({reinterpret_cast<const char*>(row.data()), row.size()}));
  }
  return hash;
}

bool RowStore::Impl::is_less(int64_t left, int64_t right) const {
  const Segment& a = segment_of(left);
  const Segment& b = segment_of(right);
  for (size_t i = 0; i < fields_.size(); ++i) {
    const auto x = a.columns[i].row(left - a.first, row_bytes_[i]);
    const auto y = b.columns[i].row(right - b.first, row_bytes_[i]);
    if (x.size() != y.size()) return x.size() < y.size();
    if (const int order = std::memcmp(x.data(), y.data(), x.size()); order != 0) return order < 0;
  }
  return false;
}

void RowStore::Impl::arrange(const std::atomic<bool>* cancelled) {
  struct Entry {
    uint64_t hash;
    int64_t place;
  };
  const auto check = [&] {
    TW_REQUIRE(cancelled == nullptr || !cancelled->load(std::memory_order_relaxed), "the arranging of ", rows_,
               " rows was cancelled");
  };
  std::vector<Entry> entries;
  entries.reserve(static_cast<size_t>(rows_));
  for (int64_t place = 0; place < rows_; ++place) {
    check();
    entries.push_back({hash_of(place), place});
  }
  std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
    check();
    return a.hash != b.hash ? a.hash < b.hash : is_less(a.place, b.place);
  });
  order_.clear();
  for (const Entry& entry : entries) order_.push_back(entry.place);
}

// Packed: the number of rows, then for each field the size of its bytes, the bytes, and where rows differ in size the
// size of each row; all numbers as u64.
std::vector<std::byte> RowStore::Impl::pack(int64_t first, int64_t& rows, size_t most_bytes) const {
  std::vector<std::vector<std::byte>> bytes(fields_.size());
  std::vector<std::vector<uint64_t>> sizes(fields_.size());
  size_t total = 0;
  int64_t count = 0;
  for (; count < rows && (count == 0 || total < most_bytes); ++count) {
    const int64_t place = place_of(first + count);
    const Segment& segment = segment_of(place);
    for (size_t i = 0; i < fields_.size(); ++i) {
      const auto row = segment.columns[i].row(place - segment.first, row_bytes_[i]);
      bytes[i].insert(bytes[i].end(), row.begin(), row.end());
      if (fields_[i].kind != RowField::Kind::kTensor) sizes[i].push_back(row.size());
      total += row.size();
    }
  }
  rows = count;
  std::vector<std::byte> packed;
  const auto add = [&](const void* data, size_t size) {
    const auto* begin = static_cast<const std::byte*>(data);
    packed.insert(packed.end(), begin, begin + size);
  };
  const auto number = static_cast<uint64_t>(count);
  add(&number, sizeof number);
  for (size_t i = 0; i < fields_.size(); ++i) {
    const uint64_t size = bytes[i].size();
    add(&size, sizeof size);
    add(bytes[i].data(), bytes[i].size());
    add(sizes[i].data(), sizes[i].size() * sizeof(uint64_t));
  }
  return packed;
}

void RowStore::Impl::append_packed(std::span<const std::byte> packed) {
  const auto take = [&](size_t size) {
    TW_REQUIRE(size <= packed.size(), "packed rows end after ", packed.size(), " bytes where ", size, " more belong");
    const auto part = packed.first(size);
    packed = packed.subspan(size);
    return part;
  };
  const auto take_number = [&] {
    uint64_t number = 0;
    std::memcpy(&number, take(sizeof number).data(), sizeof number);
    return number;
  };
  const uint64_t rows = take_number();
  TW_REQUIRE(rows <= packed.size(), "packed rows claim to be ", rows, " in ", packed.size(), " bytes");
  RowChunk chunk{static_cast<int64_t>(rows), {}};
  std::vector<std::vector<uint64_t>> offsets(fields_.size());
  for (size_t i = 0; i < fields_.size(); ++i) {
    RowChunk::Column& column = chunk.columns.emplace_back();
    column.bytes = take(take_number());
    if (fields_[i].kind == RowField::Kind::kTensor) continue;
    offsets[i].assign(1, 0);
    for (uint64_t row = 0; row < rows; ++row) offsets[i].push_back(offsets[i].back() + take_number());
    column.offsets = offsets[i];
  }
  TW_REQUIRE(packed.empty(), "packed rows have ", packed.size(), " bytes too many");
  append(chunk);
}

std::string RowStore::Impl::name_of_row(const Segment& segment, int64_t within) const {
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i].role != RowField::Role::kName) continue;
    const auto text = segment.columns[i].row(within, 0);
    if (!text.empty()) return {reinterpret_cast<const char*>(text.data()), text.size()};
  }
  return "row " + std::to_string(segment.first + within);
}

void RowStore::Impl::read(int64_t index, const Draw& draw, const Batch& batch, int64_t row) const {
  const int64_t place = place_of(index);
  const Segment& segment = segment_of(place);
  const int64_t within = place - segment.first;
  size_t input = 0, target = 0;
  for (size_t i = 0; i < fields_.size(); ++i) {
    const RowField& field = fields_[i];
    if (field.role == RowField::Role::kName) continue;
    const Tensor& tensor = field.role == RowField::Role::kInput ? batch.inputs[input++] : batch.targets[target++];
    const auto bytes = segment.columns[i].row(within, row_bytes_[i]);
    if (field.kind == RowField::Kind::kTensor) {
      std::memcpy(row_of(tensor, row), bytes.data(), bytes.size());
      continue;
    }
    const std::span<const uint8_t> encoded(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    ImageSample sample(encoded, name_of_row(segment, within), field.decode);
    field.pipeline.run(sample, draw, index, row_of(tensor, row));
  }
}

RowStore::RowStore(std::vector<RowField> fields, const RowStoreOptions& options)
    : impl_(std::make_unique<Impl>(std::move(fields), options)) {}
RowStore::~RowStore() = default;

void RowStore::append(const RowChunk& chunk) { impl_->append(chunk); }
void RowStore::arrange(const std::atomic<bool>* cancelled) { impl_->arrange(cancelled); }
int64_t RowStore::num_rows() const { return impl_->rows_; }
void RowStore::show(int64_t rows) {
  TW_REQUIRE(rows >= 0 && rows <= impl_->rows_, "of ", impl_->rows_, " rows, ", rows, " cannot be shown");
  impl_->shown_ = rows;
}
int64_t RowStore::memory_bytes() const { return impl_->memory().memory_bytes(); }
int64_t RowStore::disk_bytes() const { return impl_->memory().disk_bytes(); }
std::vector<std::byte> RowStore::pack(int64_t first, int64_t& rows, size_t most_bytes) const {
  return impl_->pack(first, rows, most_bytes);
}
void RowStore::append_packed(std::span<const std::byte> packed) { impl_->append_packed(packed); }

int64_t RowStore::size() const { return impl_->shown(); }
std::vector<TensorType> RowStore::input_types() const { return impl_->input_types_; }
std::vector<TensorType> RowStore::target_types() const { return impl_->target_types_; }
bool RowStore::is_costly() const { return impl_->has_images_; }

void RowStore::read(std::span<const int64_t> indices, const Draw& draw, const Batch& batch, int64_t row) const {
  for (const int64_t index : indices) impl_->read(index, draw, batch, row++);
}

}  // namespace thalweg::data
