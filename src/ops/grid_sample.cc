// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// grid_sample(x, grid) -> y             x [N, C, H, W], grid [N, H', W', 2]: (across, down) from -1 to 1 for each
// element
//                                       of y [N, C, H', W']
// grid_sample_grad(dy, grid, x)         the gradient of x, of which only the shape counts
// grid_sample_grad_grid(dy, grid, x)    the gradient of the grid
#include "graph/op_registry.h"
#include "ops/grid_places.h"
#include "ops/ids_rare.h"
#include "tensor/dtype.h"
#include "thalweg/ops/conv.h"

namespace thalweg {
namespace {

/// In which places are computed: two-byte floats would miss the elements of large pictures.
DType place_type(DType x) { return x == DType::kF64 ? DType::kF64 : DType::kF32; }

void check_operands(const InferContext& context, const Shape& x, const Shape& grid) {
  context.require(x.rank() == 4, "pictures must be [N, C, H, W]");
  context.require(grid.rank() == 4 && grid[3] == 2, "the grid must be [N, H, W, 2]");
  context.require(x[0] == kFree || grid[0] == kFree || x[0] == grid[0], "there are ", x[0], " pictures and ", grid[0],
                  " grids");
  context.require(x[2] != 0 && x[3] != 0, "the pictures have no elements");
  context.require(context.dtype(1) == place_type(context.dtype(0)), "the grid of pictures of ",
                  name_of(context.dtype(0)), " must be ", name_of(place_type(context.dtype(0))));
}

std::vector<TensorType> infer(const InferContext& context) {
  context.require_floating(0);
  const Shape &x = context.shape(0), &grid = context.shape(1);
  check_operands(context, x, grid);
  return {{context.dtype(0), {x[0] == kFree ? grid[0] : x[0], x[1], grid[1], grid[2]}}};
}

std::vector<TensorType> infer_grad(const InferContext& context) {
  check_operands(context, context.shape(2), context.shape(1));
  return {{context.dtype(0), context.shape(2)}};
}

std::vector<TensorType> infer_grad_grid(const InferContext& context) {
  check_operands(context, context.shape(2), context.shape(1));
  return {{context.dtype(1), context.shape(1)}};
}

void gradient(GradientContext& context) {
  const std::vector<Value*> inputs{context.output_gradient(), context.input(1), context.input(0)};
  if (context.wants(0)) context.set(0, context.graph().add(op::kGridSampleGrad, inputs, context.attrs())->output());
  if (context.wants(1)) context.set(1, context.graph().add(op::kGridSampleGradGrid, inputs, context.attrs())->output());
}

/// Calls `body(picture, place, row, column)` for each element of the grid, which are counted through one picture after
/// the other.
template <typename T, typename Body>
void for_each_place(const ReferenceCall& call, const Tensor& grid, const Shape& x, Body body) {
  const GridAxis<T> rows(call.attrs(), x[2]), columns(call.attrs(), x[3]);
  const int64_t places = grid.shape()[1] * grid.shape()[2];
  for (int64_t n = 0; n < x[0]; ++n) {
    for (int64_t p = 0; p < places; ++p) {
      const T* at = grid.data<T>() + (n * places + p) * 2;
      body(n, p, rows.place(at[1]), columns.place(at[0]));
    }
  }
}

/// Calls `use` with pictures' element type and the type of places.
template <typename Use>
void with_types(DType dtype, Use use) {
  dispatch_real(dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_same_v<T, double>) {
      use(T{}, double{});
    } else {
      use(T{}, float{});
    }
  });
}

void sample(const ReferenceCall& call) {
  const Shape& x = call.in(0).shape();
  const int64_t channels = x[1], plane = x[2] * x[3], width = x[3];
  const int64_t places = call.in(1).shape()[1] * call.in(1).shape()[2];
  with_types(call.out().dtype(), [&](auto element, auto place) {
    using T = decltype(element);
    using P = decltype(place);
    for_each_place<P>(call, call.in(1), x, [&](int64_t n, int64_t p, const GridPlace<P>& i, const GridPlace<P>& j) {
      for (int64_t c = 0; c < channels; ++c) {
        const T* from = call.in(0).data<T>() + (n * channels + c) * plane;
        const auto at = [&](int64_t row, int64_t column) { return static_cast<P>(from[row * width + column]); };
        const P high = j.low_share * at(i.low, j.low) + j.high_share * at(i.low, j.high);
        const P low = j.low_share * at(i.high, j.low) + j.high_share * at(i.high, j.high);
        call.out().data<T>()[(n * channels + c) * places + p] = static_cast<T>(i.low_share * high + i.high_share * low);
      }
    });
  });
}

void sample_grad(const ReferenceCall& call) {
  const Shape& x = call.out().shape();
  const int64_t channels = x[1], plane = x[2] * x[3], width = x[3];
  const int64_t places = call.in(1).shape()[1] * call.in(1).shape()[2];
  with_types(call.out().dtype(), [&](auto element, auto place) {
    using T = decltype(element);
    using P = decltype(place);
    std::fill_n(call.out().data<T>(), call.out().num_elements(), T{});
    for_each_place<P>(call, call.in(1), x, [&](int64_t n, int64_t p, const GridPlace<P>& i, const GridPlace<P>& j) {
      for (int64_t c = 0; c < channels; ++c) {
        T* to = call.out().data<T>() + (n * channels + c) * plane;
        const P dy = static_cast<P>(call.in(0).data<T>()[(n * channels + c) * places + p]);
        const auto add = [&](int64_t row, int64_t column, P share) {
          T& element_at = to[row * width + column];
          element_at = static_cast<T>(static_cast<P>(element_at) + share * dy);
        };
        add(i.low, j.low, i.low_share * j.low_share);
        add(i.low, j.high, i.low_share * j.high_share);
        add(i.high, j.low, i.high_share * j.low_share);
        add(i.high, j.high, i.high_share * j.high_share);
      }
    });
  });
}

void sample_grad_grid(const ReferenceCall& call) {
  const Shape& x = call.in(2).shape();
  const int64_t channels = x[1], plane = x[2] * x[3], width = x[3];
  const int64_t places = call.in(1).shape()[1] * call.in(1).shape()[2];
  with_types(call.in(2).dtype(), [&](auto element, auto place) {
    using T = decltype(element);
    using P = decltype(place);
    for_each_place<P>(call, call.in(1), x, [&](int64_t n, int64_t p, const GridPlace<P>& i, const GridPlace<P>& j) {
      P across = 0, down = 0;
      for (int64_t c = 0; c < channels; ++c) {
        const T* from = call.in(2).data<T>() + (n * channels + c) * plane;
        const P dy = static_cast<P>(call.in(0).data<T>()[(n * channels + c) * places + p]);
        const auto at = [&](int64_t row, int64_t column) { return static_cast<P>(from[row * width + column]); };
        const auto along = [&](P low_row, P high_row, P low_column, P high_column) {
          return low_row * (low_column * at(i.low, j.low) + high_column * at(i.low, j.high)) +
                 high_row * (low_column * at(i.high, j.low) + high_column * at(i.high, j.high));
        };
        across += dy * along(i.low_share, i.high_share, j.low_slope, j.high_slope);
        down += dy * along(i.low_slope, i.high_slope, j.low_share, j.high_share);
      }
      P* to = call.out().data<P>() + (n * places + p) * 2;
      to[0] = across;
      to[1] = down;
    });
  });
}

const std::vector<AttributeDef> kAttributes{
    attr::text("mode", "linear", "of the neighbours of a place").one_of({"linear", "nearest"}),
    attr::text("padding_mode", "zeros", "what lies outside of the picture").one_of({"zeros", "border", "reflection"}),
    attr::flag("align_corners", "-1 and 1 are the middles of the outermost elements, not their edges")};

const RegisterOp kGridSample(op::kGridSample, 2, "Pictures read at places that a grid gives.", infer, gradient,
                             kAttributes, {.reference = sample});
const RegisterOp kGridSampleGrad(op::kGridSampleGrad, 3, "", infer_grad, nullptr, kAttributes,
                                 {.reference = sample_grad});
const RegisterOp kGridSampleGradGrid(op::kGridSampleGradGrid, 3, "", infer_grad_grid, nullptr, kAttributes,
                                     {.reference = sample_grad_grid});

}  // namespace

namespace ops {

Value* grid_sample(Value* x, Value* grid, const GridSampleOptions& options, const std::string& name) {
  const Attributes attrs{
      {"mode", options.mode}, {"padding_mode", options.padding_mode}, {"align_corners", options.align_corners}};
  return x->graph().add(op::kGridSample, {x, grid}, attrs, name)->output();
}

}  // namespace ops
}  // namespace thalweg
