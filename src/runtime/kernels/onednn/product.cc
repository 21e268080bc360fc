// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/onednn/product.h"

#include "runtime/kernels/onednn/onednn_kernel.h"

namespace thalweg {
namespace {

using dnnl::memory;

memory::desc describe_side(const Product::Side& side) {
  constexpr auto kType = memory::data_type::f32;
  if (side.transposed) return {{side.columns, side.rows}, kType, memory::dims{1, side.columns}};
  return {{side.rows, side.columns}, kType, memory::dims{side.columns, 1}};
}

}  // namespace

Product::Product(const Side& left, const Side& right, bool bias)
    : left_(describe_side(left)), right_(describe_side(right)) {
  const int64_t rows = left_.get_dims()[0], columns = right_.get_dims()[1];
  result_ = describe_side({rows, columns});
  if (bias) bias_ = describe_side({1, columns});
  const dnnl::matmul::primitive_desc pd(dnnl_engine(), left_, right_, bias_, result_, onednn_attr());
  scratch_ = pd.scratchpad_desc();
  primitive_ = dnnl::matmul(pd);
}

void Product::run(const float* left, const float* right, const float* bias, float* result, void* scratch) const {
  const dnnl::engine& engine = dnnl_engine();
  std::unordered_map<int, memory> arguments{{DNNL_ARG_SRC, memory(left_, engine, const_cast<float*>(left))},
                                            {DNNL_ARG_WEIGHTS, memory(right_, engine, const_cast<float*>(right))},
                                            {DNNL_ARG_DST, memory(result_, engine, result)}};
  if (bias != nullptr) arguments.emplace(DNNL_ARG_BIAS, memory(bias_, engine, const_cast<float*>(bias)));
  if (scratch_bytes() > 0) arguments.emplace(DNNL_ARG_SCRATCHPAD, memory(scratch_, engine, scratch));
  primitive_.execute(dnnl_stream(), arguments);
  dnnl_stream().wait();
}

}  // namespace thalweg
