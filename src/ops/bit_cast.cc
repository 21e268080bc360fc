// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// bit_cast(x): the bits of x read as another element type of the same size. Its kernel is in the runtime: a plain form
// would be given two-byte floats as f32.
#include "graph/op_registry.h"
#include "ops/ids_rare.h"
#include "thalweg/stored_types.h"

namespace thalweg {
namespace {

std::vector<TensorType> infer(const InferContext& context) {
  const DType from = context.dtype(0), to = dtype_from_name(context.attrs().text("to"));
  context.require(!stored::is_object(from) && !stored::is_object(to) && size_of(from) == size_of(to), "the bits of ",
                  from, " are not those of ", to);
  return {{to, context.shape(0)}};
}

const RegisterOp kBitCast(op::kBitCast, 1, "The bits of x as numbers of another type of the same size.", infer, nullptr,
                          {attr::dtype("to", "", "that type").needed()}, {.zero_gradient = true});

}  // namespace
}  // namespace thalweg
