// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/model.h"

namespace thalweg {

/// A graph whose loss somebody else computes, such as a training loop of another framework: a run gives the outputs,
/// and when their gradients are known, those of the inputs. All weights are inputs of the graph. What the graph draws
/// at random is the same in both halves of a run, and nothing is computed twice.
///
/// May be called from several threads at once, each run by one at a time.
class GradientFunction {
 public:
  class Run {
   public:
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    /// Can be taken once.
    std::vector<Tensor> take_outputs();
    /// The gradients of the inputs that were asked for, in their order, for those of all floating outputs; undefined
    /// for an input that influences none of these. Once only: memory is used again meanwhile.
    std::vector<Tensor> gradients(const std::vector<Tensor>& of_outputs);

   private:
    friend class GradientFunction;
    struct Impl;
    explicit Run(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
  };

  /// Takes over a graph in training form that has inputs only, neither parameters nor states. `wanted` names those
  /// whose gradients are asked for.
  GradientFunction(std::unique_ptr<Graph> graph, std::vector<std::string> wanted, const InferenceOptions& options = {});
  ~GradientFunction();

  const Graph& graph() const;
  /// Random ops draw by `seed`. Compiles for shapes that are new.
  std::unique_ptr<Run> run(const std::vector<Tensor>& inputs, uint64_t seed);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace thalweg
