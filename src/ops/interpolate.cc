// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// interpolate(x) -> y, attributes output_size, mode, coordinates; interpolate_grad(dy, x) -> dx, where of x only shape
// and layout count.
#include "ops/axis_map.h"
#include "ops/ids.h"
#include "ops/window.h"
#include "thalweg/ops/conv.h"

namespace thalweg {
namespace {

std::vector<TensorType> infer_interpolate(const InferContext& context) {
  const Shape& x = context.shape(0);
  const std::string mode = context.attrs().text("mode");
  const std::vector<int64_t> out = context.attrs().integers("output_size");
  context.require_floating(0);
  context.require(x.rank() >= 3 && x.rank() <= 5, "the input must have 1 to 3 spatial dimensions");
  context.require(out.size() + 2 == static_cast<size_t>(x.rank()), "output_size has ", out.size(), " entries for ",
                  x.rank() - 2, " spatial dimensions");
  for (int d = 2; d < x.rank(); ++d) context.require(x[d] != 0, "spatial dimension ", d - 2, " is empty");
  context.require(mode != "cubic" || x.rank() == 4, "mode cubic needs 2 spatial dimensions");
  return {{context.dtype(0), with_spatial(x[0], x[1], out)}};
}

void interpolate_gradient(GradientContext& context) {
  const std::vector<Value*> inputs{context.output_gradient(), context.input(0)};
  context.set(0, context.graph().add(op::kInterpolateGrad, inputs, context.attrs())->output());
}

const std::vector<AttributeDef> kAttributes{
    attr::integers("output_size", "the spatial extents of the result").at_least(1).needed(),
    attr::text("mode", "nearest", "how elements between elements are found").one_of({"nearest", "linear", "cubic"}),
    attr::text("coordinates", "half_pixel", "how places of the result lie over those of x")
        .one_of({"half_pixel", "align_corners", "asymmetric"})};

const RegisterOp kInterpolate(op::kInterpolate, 1, "Resizes the spatial dimensions.", infer_interpolate,
                              interpolate_gradient, kAttributes);
const RegisterOp kInterpolateGrad(
    op::kInterpolateGrad, 2, "",
    [](const InferContext& context) -> std::vector<TensorType> {
      return {{context.dtype(0), context.shape(1)}};
    },
    nullptr, kAttributes);

}  // namespace

namespace ops {

Value* interpolate(Value* x, const std::vector<int64_t>& output_size, const std::string& mode,
                   const std::string& coordinates, const std::string& name) {
  const Attributes attrs{{"output_size", output_size}, {"mode", mode}, {"coordinates", coordinates}};
  return x->graph().add(op::kInterpolate, {x}, attrs, name)->output();
}

}  // namespace ops
}  // namespace thalweg
