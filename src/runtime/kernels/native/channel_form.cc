// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/native/channel_form.h"

namespace thalweg {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

/// The format of [N, C, spatial...] with channels in blocks; block 0: channels last.
Tag channel_tag(int rank, int64_t block) {
  if (rank < 3 || rank > 5) return Tag::undef;
  constexpr Tag kLast[] = {Tag::nwc, Tag::nhwc, Tag::ndhwc};
  constexpr Tag kEight[] = {Tag::nCw8c, Tag::nChw8c, Tag::nCdhw8c};
  constexpr Tag kSixteen[] = {Tag::nCw16c, Tag::nChw16c, Tag::nCdhw16c};
  const int at = rank - 3;
  if (block == 0) return kLast[at];
  if (block == 8) return kEight[at];
  return block == 16 ? kSixteen[at] : Tag::undef;
}

int64_t block_of(const Layout& layout) {
  return layout.desc().get_inner_nblks() == 0 ? 0 : layout.desc().get_inner_blks()[0];
}

}  // namespace

bool axis_runs(const Layout& layout, int axis, AxisRuns& result) {
  const Shape& shape = layout.shape();
  if (layout.is_plain()) {
    result = {shape.num_elements(0, axis), shape.num_elements(axis + 1, shape.rank())};
    return true;
  }
  ChannelBlocking blocking;
  if (!channel_blocking(layout, blocking, true)) return false;
  const int64_t images = blocking.outer * blocking.blocks;
  if (axis == 0) {
    result = {1, blocking.blocks * blocking.spatial * blocking.block};
  } else if (axis == 1) {
    result = {blocking.outer * blocking.spatial, 1};
    return block_of(layout) == 0;
  } else {
    result = {images * shape.num_elements(2, axis), shape.num_elements(axis + 1, shape.rank()) * blocking.block};
  }
  return true;
}

BlockedDims blocked_dims(const Layout& like, const TensorType& type) {
  const Shape& shape = type.shape;
  BlockedDims result;
  result.last = block_of(like) == 0;
  const int64_t block = result.last ? shape[1] : block_of(like);
  result.dims = {shape[0], result.last ? 1 : (shape[1] + block - 1) / block};
  result.dims.insert(result.dims.end(), shape.begin() + 2, shape.end());
  result.dims.push_back(block);
  result.strides = Shape(result.dims).strides();
  for (int64_t& stride : result.strides) stride *= static_cast<int64_t>(size_of(type.dtype));
  return result;
}

bool same_arrangement(const Layout& like, const TensorType& type, Layout& result) {
  if (like.is_plain()) {
    result = Layout(type);
    return true;
  }
  const memory::desc& md = like.desc();
  const Tag tag = md.get_inner_nblks() > 1 ? Tag::undef : channel_tag(type.shape.rank(), block_of(like));
  if (tag == Tag::undef || type.shape.rank() != like.shape().rank()) return false;
  if (memory::desc(to_dnnl(like.shape()), to_dnnl(like.dtype()), tag) != md) return false;
  result = Layout(type, {to_dnnl(type.shape), to_dnnl(type.dtype), tag});
  return true;
}

}  // namespace thalweg
