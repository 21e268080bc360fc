// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <string>

#include "thalweg/tensor.h"

namespace thalweg {

/// How a value lies in memory while a program runs: row-major, or any arrangement that a oneDNN kernel chose for it.
/// The logical type (element type, shape) never changes with the layout.
class Layout {
 public:
  Layout() = default;
  /// Row-major.
  explicit Layout(const TensorType& type);
  /// As oneDNN describes it; `md` must agree with the shape of `type`, but that scalars have one dimension and weights
  /// of a grouped convolution one more: [O, I, ...] is [groups, O/groups, I, ...] there.
  Layout(const TensorType& type, dnnl::memory::desc md);

  const TensorType& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  DType dtype() const { return type_.dtype; }
  bool is_plain() const { return plain_; }
  /// False for element types or ranks that oneDNN does not know; such a layout is always plain.
  bool has_desc() const { return has_desc_; }
  const dnnl::memory::desc& desc() const;
  /// The same with the dimensions in which `other` is described, for reorders from or to grouped weights.
  dnnl::memory::desc desc_like(const Layout& other) const;
  /// Size of the buffer, padding included.
  size_t bytes() const { return bytes_; }
  /// True if the buffer holds elements beyond the logical ones (channels rounded up to a block).
  bool padded() const;
  /// The same arrangement for another element type of the same shape.
  Layout with_dtype(DType dtype) const;
  /// The same arrangement for a type of the same rank; row-major where that is not known.
  Layout resized(const TensorType& type) const;

  bool operator==(const Layout& other) const;
  bool operator!=(const Layout& other) const { return !(*this == other); }
  /// Such as "f32 nChw16c", "plain f32" for people.
  std::string to_string() const;

 private:
  TensorType type_;
  dnnl::memory::desc md_;
  bool plain_ = true;
  bool has_desc_ = false;
  size_t bytes_ = 0;
};

/// How an activation [N, C, spatial...] lies in memory, for kernels written by hand: as
/// [outer][blocks][spatial][block], where channels are cut into `blocks` of `block`. Row-major NCHW has block 1; NHWC
/// has one block of all channels.
struct ChannelBlocking {
  int64_t outer = 0;    ///< N
  int64_t blocks = 0;   ///< channel blocks
  int64_t spatial = 0;  ///< product of the spatial extents
  int64_t block = 0;    ///< channels of a block
};
/// False if the layout is arranged in another way, or padded unless `padding`: the last block is then partly zeros,
/// which the kernel must leave zeros.
bool channel_blocking(const Layout& layout, ChannelBlocking& result, bool padding = false);

/// Throws for types that oneDNN has no name for.
dnnl::memory::data_type to_dnnl(DType dtype);
bool known_to_dnnl(DType dtype);
dnnl::memory::dims to_dnnl(const Shape& shape);
/// The one CPU engine of the process.
const dnnl::engine& dnnl_engine();
/// A stream of the calling thread.
dnnl::stream& dnnl_stream();

}  // namespace thalweg
