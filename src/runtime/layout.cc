// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/layout.h"

#include <algorithm>
#include <numeric>

#include "base/library_pages.h"

namespace thalweg {
namespace {

using dnnl::memory;

constexpr int kMaxDnnlRank = 12;

memory::desc row_major(const TensorType& type) {
  const memory::dims dims = to_dnnl(type.shape);
  memory::dims strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(dims[i], 1);
  }
  return {dims, to_dnnl(type.dtype), strides};
}

/// Strides for `dims` without gaps, in the order in which `md` has its dimensions.
memory::dims dense_strides(const memory::desc& md, const memory::dims& dims) {
  const memory::dims like = md.get_strides();
  std::vector<size_t> order(dims.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return like[a] > like[b]; });
  memory::dims strides(dims.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= std::max<int64_t>(dims[order[i]], 1);
  }
  return strides;
}

}  // namespace

bool known_to_dnnl(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kBF16:
    case DType::kF16:
    case DType::kI8:
    case DType::kU8:
    case DType::kI32: return true;
    default: return false;
  }
}

memory::data_type to_dnnl(DType dtype) {
  switch (dtype) {
    case DType::kF32: return memory::data_type::f32;
    case DType::kBF16: return memory::data_type::bf16;
    case DType::kF16: return memory::data_type::f16;
    case DType::kI8: return memory::data_type::s8;
    case DType::kU8: return memory::data_type::u8;
    case DType::kI32: return memory::data_type::s32;
    default: raise("oneDNN has no element type ", name_of(dtype));
  }
}

memory::dims to_dnnl(const Shape& shape) {
  if (shape.rank() == 0) return {1};
  return shape.dims();
}

const dnnl::engine& dnnl_engine() {
  static const dnnl::engine engine = [] {
    dnnl::engine made(dnnl::engine::kind::cpu, 0);
    // Its hundreds of initialisers lie all over the library: 20 MB that are hardly needed again.
    release_library_pages(reinterpret_cast<const void*>(&dnnl_engine_create));
    return made;
  }();
  return engine;
}

dnnl::stream& dnnl_stream() {
  thread_local dnnl::stream stream(dnnl_engine());
  return stream;
}

Layout::Layout(const TensorType& type)
    : type_(type),
      has_desc_(known_to_dnnl(type.dtype) && type.shape.rank() <= kMaxDnnlRank),
      bytes_(static_cast<size_t>(type.shape.num_elements()) * size_of(type.dtype)) {
  if (has_desc_) md_ = row_major(type);
}

Layout::Layout(const TensorType& type, memory::desc md)
    : type_(type), md_(std::move(md)), has_desc_(true), bytes_(md_.get_size()) {
  plain_ = md_ == row_major({type.dtype, Shape(md_.get_dims())});
  if (plain_) md_ = row_major(type);
}

const memory::desc& Layout::desc() const {
  TW_REQUIRE(has_desc_, "oneDNN cannot describe a value of type ", type_);
  return md_;
}

memory::desc Layout::desc_like(const Layout& other) const {
  const memory::dims dims = other.desc().get_dims();
  return plain_ && static_cast<size_t>(desc().get_ndims()) < dims.size() ? desc().reshape(dims) : desc();
}

bool Layout::padded() const { return bytes_ != static_cast<size_t>(type_.shape.num_elements()) * size_of(type_.dtype); }

Layout Layout::with_dtype(DType dtype) const { return resized({dtype, type_.shape}); }

Layout Layout::resized(const TensorType& type) const {
  if (type == type_) return *this;
  if (plain_ || !known_to_dnnl(type.dtype)) return Layout(type);
  const memory::dims dims = type.shape == type_.shape ? md_.get_dims() : type.shape.dims();
  if (dims.size() != static_cast<size_t>(md_.get_ndims())) return Layout(type);
  if (md_.get_inner_nblks() == 0) return {type, memory::desc(dims, to_dnnl(type.dtype), dense_strides(md_, dims))};
  // Blocked descriptors cannot be put together by hand; the format tags of the usual ones can be asked for by name.
  for (const auto tag : {memory::format_tag::nChw16c, memory::format_tag::nChw8c, memory::format_tag::nCdhw16c,
                         memory::format_tag::nCw16c, memory::format_tag::nCdhw8c, memory::format_tag::nCw8c}) {
    const memory::desc same(md_.get_dims(), md_.get_data_type(), tag, true);
    if (same && same == md_) return {type, memory::desc(dims, to_dnnl(type.dtype), tag)};
  }
  return Layout(type);
}

bool Layout::operator==(const Layout& other) const {
  if (type_ != other.type_ || plain_ != other.plain_) return false;
  return plain_ || md_ == other.md_;
}

std::string Layout::to_string() const {
  std::string text = name_of(type_.dtype);
  if (plain_) return text + " plain";
  // Letters in the order of decreasing stride, upper case where the dimension is also blocked, then the blocks.
  const memory::dims strides = md_.get_strides();
  const memory::dims blocks = md_.get_inner_blks();
  const memory::dims block_dims = md_.get_inner_idxs();
  std::vector<size_t> order(strides.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return strides[a] > strides[b]; });
  text += ' ';
  for (size_t dim : order) {
    const bool blocked = std::find(block_dims.begin(), block_dims.end(), static_cast<int64_t>(dim)) != block_dims.end();
    text += static_cast<char>((blocked ? 'A' : 'a') + static_cast<int>(dim));
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    text += std::to_string(blocks[i]) + static_cast<char>('a' + static_cast<int>(block_dims[i]));
  }
  return text;
}

bool channel_blocking(const Layout& layout, ChannelBlocking& result, bool padding) {
  const Shape& shape = layout.shape();
  if (shape.rank() < 2) return false;
  const int64_t batch = shape[0];
  const int64_t channels = shape[1];
  const int64_t spatial = shape.num_elements(2, shape.rank());
  if (layout.is_plain()) {
    result = {batch, channels, spatial, 1};
    return true;
  }
  const memory::desc& md = layout.desc();
  if (layout.padded() && !padding) return false;
  const memory::dims strides = md.get_strides();
  const memory::dims blocks = md.get_inner_blks();
  const bool blocked = blocks.size() == 1 && md.get_inner_idxs()[0] == 1;
  if (!blocks.empty() && !blocked) return false;
  const int64_t block = blocked ? blocks[0] : channels;
  const int64_t block_count = (channels + block - 1) / block;
  // The spatial dimensions must follow each other, innermost last, each step being one block of channels.
  int64_t expected = block;
  for (int d = shape.rank() - 1; d >= 2; --d) {
    if (shape[d] != 1 && strides[static_cast<size_t>(d)] != expected) return false;
    expected *= shape[d];
  }
  if (!blocked && channels != 1 && strides[1] != 1) return false;
  if (blocked && block_count != 1 && strides[1] != expected) return false;
  if (batch != 1 && strides[0] != block_count * block * spatial) return false;
  result = {batch, block_count, spatial, block};
  return true;
}

}  // namespace thalweg
