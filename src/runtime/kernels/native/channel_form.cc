// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/native/channel_form.h"

namespace thalweg {
namespace {

using Tag = dnnl::memory::format_tag;

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
    result = {shape.num_elements(0, axis), shape.num_elements(axis + 1, shape.rank()), 1};
    return true;
  }
  ChannelBlocking blocking;
  if (axis != 1 || !channel_blocking(layout, blocking)) return false;
  const int64_t block = block_of(layout);
  result = block == 0 ? AxisRuns{blocking.outer * blocking.spatial, 1, 1}
                      : AxisRuns{blocking.outer, blocking.spatial, block};
  return true;
}

bool same_arrangement(const Layout& like, const TensorType& type, int axis, Layout& result) {
  if (like.is_plain()) {
    result = Layout(type);
    return true;
  }
  AxisRuns runs;
  if (!axis_runs(like, axis, runs) || type.shape[1] % runs.step != 0) return false;
  const Tag tag = channel_tag(type.shape.rank(), block_of(like));
  if (tag == Tag::undef) return false;
  const dnnl::memory::desc own(to_dnnl(like.shape()), to_dnnl(like.dtype()), tag);
  if (own != like.desc()) return false;
  result = Layout(type, {to_dnnl(type.shape), to_dnnl(type.dtype), tag});
  return true;
}

}  // namespace thalweg
