// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// interpolate(x) -> y, attributes output_size, mode, coordinates; interpolate_grad(dy, x) -> dx, where of x only shape
// and layout count.
#include "ops/axis_map.h"
#include "ops/window.h"
#include "thalweg/ops/conv.h"

namespace thalweg {
namespace {

std::vector<TensorType> infer_interpolate(const InferContext& context) {
  const Shape& x = context.shape(0);
  const std::string mode = context.attrs().text("mode");
  const std::string coordinates = context.attrs().text("coordinates");
  const std::vector<int64_t> out = context.attrs().integers("output_size");
  context.require_floating(0);
  context.require(x.rank() >= 3 && x.rank() <= 5, "the input must have 1 to 3 spatial dimensions");
  context.require(out.size() + 2 == static_cast<size_t>(x.rank()), "output_size has ", out.size(), " entries for ",
                  x.rank() - 2, " spatial dimensions");
  for (int64_t extent : out) context.require(extent >= 1, "output_size must be at least 1, got ", extent);
  for (int d = 2; d < x.rank(); ++d) context.require(x[d] != 0, "spatial dimension ", d - 2, " is empty");
  context.require(mode == "nearest" || mode == "linear" || mode == "cubic", "unknown mode '", mode,
                  "'; known: nearest, linear, cubic");
  context.require(mode != "cubic" || x.rank() == 4, "mode cubic needs 2 spatial dimensions");
  context.require(coordinates == "half_pixel" || coordinates == "align_corners" || coordinates == "asymmetric",
                  "unknown coordinates '", coordinates, "'; known: half_pixel, align_corners, asymmetric");
  return {{context.dtype(0), with_spatial(x[0], x[1], out)}};
}

void interpolate_gradient(GradientContext& context) {
  const std::vector<Value*> inputs{context.output_gradient(), context.input(0)};
  context.set(0, context.graph().add("interpolate_grad", inputs, context.attrs())->output());
}

const RegisterOp kInterpolate({"interpolate", 1, 1, infer_interpolate, interpolate_gradient});
const RegisterOp kInterpolateGrad({"interpolate_grad", 2, 2,
                                   [](const InferContext& context) -> std::vector<TensorType> {
                                     return {{context.dtype(0), context.shape(1)}};
                                   },
                                   nullptr});

}  // namespace

namespace ops {

Value* interpolate(Value* x, const std::vector<int64_t>& output_size, const std::string& mode,
                   const std::string& coordinates, const std::string& name) {
  const Attributes attrs{{"output_size", output_size}, {"mode", mode}, {"coordinates", coordinates}};
  return x->graph().add("interpolate", {x}, attrs, name)->output();
}

}  // namespace ops
}  // namespace thalweg
