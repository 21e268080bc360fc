// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/gradient_function.h"

#include "bindings.h"
#include "engine_calls.h"

namespace thalweg::python {
namespace {

/// Arrays for the tensors; None for one that is not defined.
nb::list arrays_of(const std::vector<Tensor>& tensors) {
  nb::list result;
  for (const Tensor& tensor : tensors) result.append(tensor.defined() ? to_numpy(tensor) : nb::none());
  return result;
}

std::vector<Tensor> tensors_of(const nb::list& arrays) {
  std::vector<Tensor> result;
  result.reserve(arrays.size());
  for (const nb::handle array : arrays) result.push_back(to_tensor(array));
  return result;
}

}  // namespace

void bind_gradient_function(nb::module_& module) {
  using Run = GradientFunction::Run;
  nb::class_<Run>(module, "GradientRun", "A run of a GradientFunction.")
      .def(
          "take_outputs", [](Run& run) { return arrays_of(run.take_outputs()); }, "Once only.")
      .def(
          "gradients",
          [](Run& run, const nb::list& of_outputs) {
            const std::vector<Tensor> given = tensors_of(of_outputs);
            return arrays_of(call_engine([&] { return run.gradients(given); }));
          },
          "of_outputs"_a,
          "Those of the wanted inputs, for those of all floating outputs; None for an input that influences none. Once "
          "only.");
  const InferenceOptions usual;
  nb::class_<GradientFunction>(module, "GradientFunction",
                               "A graph whose loss somebody else computes: outputs first, gradients when those of the "
                               "outputs are known. All its weights are inputs.")
      .def(
          "__init__",
          [](GradientFunction* self, const Graph& graph, std::vector<std::string> wanted, const std::string& precision,
             const std::string& math, const std::string& tuning, int threads, int max_programs) {
            InferenceOptions options;
            options.precision = precision_from_name(precision);
            options.math = math_from_name(math);
            options.tuning = tuning_from_name(tuning);
            options.threads = threads;
            options.max_programs = max_programs;
            new (self) GradientFunction(graph.clone(), std::move(wanted), options);
          },
          "graph"_a, "wanted"_a, nb::kw_only(), "precision"_a = name_of(Precision::kF32),
          "math"_a = name_of(usual.math), "tuning"_a = name_of(Tuning::kFixed), "threads"_a = usual.threads,
          "max_programs"_a = usual.max_programs)
      .def(
          "run",
          [](GradientFunction& function, const nb::list& inputs, uint64_t seed) {
            const std::vector<Tensor> given = tensors_of(inputs);
            return call_engine([&] { return function.run(given, seed); });
          },
          "inputs"_a, "seed"_a = 0);
}

}  // namespace thalweg::python
