// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/compile_for_inference.h"

#include <chrono>
#include <functional>

#include "runtime/tuner.h"

namespace thalweg {
namespace {

std::shared_ptr<Program> compile(std::unique_ptr<Graph> graph, const std::shared_ptr<Variables>& variables,
                                 Precision precision, const CompileOptions& options) {
  prepare_for_inference(*graph, precision);
  return Program::compile(std::move(graph), variables, options);
}

/// A run of the program, prepared.
TuningCandidate candidate(Precision precision, const std::shared_ptr<Program>& program,
                          const std::vector<Tensor>& inputs) {
  const auto session = std::make_shared<Session>(program);
  session->run(inputs);
  return {name_of(precision), [session, inputs] {
            const auto begin = std::chrono::steady_clock::now();
            session->run(inputs);
            return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
          }};
}

}  // namespace

std::shared_ptr<Program> compile_for_inference(std::unique_ptr<Graph> graph,
                                               const std::shared_ptr<Variables>& variables, Precision precision,
                                               const CompileOptions& options, const std::vector<Tensor>& inputs) {
  if (precision == Precision::kF32 || options.tuning != Tuning::kMeasured) {
    return compile(std::move(graph), variables, precision, options);
  }
  Tuner& tuner = Tuner::for_this_cpu();
  const std::string key = "program " + std::to_string(std::hash<std::string>()(graph->to_string())) + " x" +
                          std::to_string(options.threads);
  const std::string known = tuner.find(key);
  if (!known.empty()) {
    const Precision chosen = known == name_of(precision) ? precision : Precision::kF32;
    return compile(std::move(graph), variables, chosen, options);
  }
  auto narrow = compile(graph->clone(), variables, precision, options);
  auto full = compile(std::move(graph), variables, Precision::kF32, options);
  const std::string fastest =
      tuner.choose(key, {candidate(precision, narrow, inputs), candidate(Precision::kF32, full, inputs)});
  tuner.keep();
  return fastest == name_of(precision) ? narrow : full;
}

}  // namespace thalweg
