// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "graph/host_op.h"
#include "runtime/program_cache.h"
#include "thalweg/passes.h"
#include "thalweg/profile.h"

namespace thalweg {

struct RunnerOptions {
  Precision precision = Precision::kF32;
  Math math = Math::kFast;
  Tuning tuning = Tuning::kFixed;
  /// 0: what the machine and its control group allow.
  int threads = 0;
  /// Segments that are kept for each place in a run, one for each combination of shapes; the least recently used one
  /// goes first.
  int max_programs = 8;
};

/// What a graph and the graphs inside its nodes share while they run.
struct RunnerContext {
  /// How messages name the model.
  std::string name;
  RunnerOptions options;
  /// May be replaced while everything that was compiled for it is forgotten.
  std::shared_ptr<Variables>& variables;
  /// Shared while weights are read, unique while a program is compiled, which may rearrange them.
  std::shared_mutex& weights_mutex;
  /// Of whatever runs in turn.
  std::shared_ptr<ArenaPool> arenas = std::make_shared<ArenaPool>();
};

/// Runs a graph whose shapes may be free: as one compiled program where the shapes of the inputs decide everything,
/// otherwise as several segments, with nodes that the host executes in between. What was compiled is kept. From several
/// threads at once.
class GraphRunner {
 public:
  /// Both must outlive the runner. `kept_steps`: more segments than the options say are kept at a place as long as
  /// they have no more steps together.
  GraphRunner(const Graph& graph, RunnerContext& context, size_t kept_steps = 0);
  ~GraphRunner();

  /// The outputs for these inputs. `profile` (or null) receives what was executed, in order, and how long each step
  /// took.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs, std::vector<ProgramProfile>* profile = nullptr);
  /// Forgets what was compiled.
  void clear();
  /// Of the segments with which runs begin.
  size_t num_compiled() const;

 private:
  struct Segment;
  struct SegmentCache;
  /// By the numbers of values; undefined where there is nothing yet.
  using Contents = std::vector<Tensor>;

  std::shared_ptr<Segment> segment_for(SegmentCache& cache, const Contents& contents, const std::vector<bool>& done);
  /// The caller holds the weights alone.
  std::shared_ptr<Segment> compile(const Contents& contents, const std::vector<bool>& done);
  void run_segment(Segment& segment, Contents& contents, std::vector<ProgramProfile>* profile);
  /// True if the segment is to be compiled anew.
  bool run_program(const Segment& segment, const std::vector<Tensor>& inputs, Contents& contents,
                   std::vector<ProgramProfile>* profile);
  /// For what was measured since it was compiled.
  void compile_anew(Segment& segment);
  void run_host_node(const Node& node, Contents& contents, std::vector<ProgramProfile>* profile);
  /// What is given, or the content of a constant or weight; undefined if there is nothing.
  Tensor find(const Value* value, const Contents& contents) const;
  bool complete(const Contents& contents) const;
  GraphRunner& body_runner(const Graph& body);
  HostMemory& memory_of(const Node& node);

  const Graph& graph_;
  RunnerContext& context_;
  const size_t kept_steps_;
  size_t num_values_ = 0;
  std::unique_ptr<SegmentCache> root_;
  /// Of weights that are stored elsewhere and that nodes read which the host executes: to fetch them in every run would
  /// take as long as some loops.
  mutable std::mutex views_mutex_;
  mutable std::map<const Value*, Tensor> views_;
  std::mutex bodies_mutex_;
  std::map<const Graph*, std::unique_ptr<GraphRunner>> bodies_;
  /// They stay as long as the graph does, whose attributes they follow from.
  std::mutex memories_mutex_;
  std::map<const Node*, HostMemory> memories_;
};

}  // namespace thalweg
