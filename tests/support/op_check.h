// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/program.h"
#include "thalweg/graph.h"

namespace thalweg::testing {

/// Uniform in [low, high) for floating types; integers in [low, high). Fixed by the seed.
Tensor random_tensor(DType dtype, const Shape& shape, uint64_t seed, double low = -1.0, double high = 1.0);

/// Compiles and runs a static graph once.
std::vector<Tensor> run_graph(const Graph& graph, const std::vector<Tensor>& inputs,
                              const CompileOptions& options = {});

/// What an op under test is fed with. Integer operands (indices, labels) are never differentiated.
struct Operand {
  Shape shape;
  double low = -1.0;
  double high = 1.0;
  DType dtype = DType::kF64;  ///< integer types are kept; floating ones become the type under test
  bool differentiate = true;
};

/// Builds the values to be checked from the operands.
using BuildOp = std::function<std::vector<Value*>(const std::vector<Value*>& operands)>;

struct CheckOptions {
  double epsilon = 1e-5;    ///< step of the central difference
  double tolerance = 1e-6;  ///< relative to the largest gradient of the operand, plus absolute
};

/// Every gradient that autodiff gives, run with the reference kernels in double precision, against central differences
/// of a random weighted sum of the outputs. Reports failures through GoogleTest.
void check_gradients(const std::vector<Operand>& operands, const BuildOp& build, const CheckOptions& options = {});

/// Outputs, and gradients unless `gradients` is false, of the default kernels against the reference kernels, in f32 (or
/// bf16: operands rounded to it for both). `tolerance` is relative to the largest element. `expect_kernel`, if not
/// empty, must be part of the name of some kernel that ran: the test fails when the fast path was not taken.
void check_fast_path(const std::vector<Operand>& operands, const BuildOp& build, const std::string& expect_kernel = "",
                     double tolerance = 2e-5, bool gradients = true, DType dtype = DType::kF32);

/// As check_fast_path in f32 with the one candidate of that name, which must run, also where it would not be chosen.
void check_candidate(const std::vector<Operand>& operands, const BuildOp& build, const std::string& candidate,
                     double tolerance, int threads);

/// GoogleTest assertion: same type and elements within tolerance relative to the largest one.
void expect_close(const Tensor& actual, const Tensor& expected, double tolerance, const std::string& what);

}  // namespace thalweg::testing
