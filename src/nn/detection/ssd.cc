// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/nn.h"
#include "thalweg/nn/detection.h"
#include "thalweg/ops.h"

namespace thalweg::nn {
namespace {

/// One of the six maps that have priors.
struct Level {
  double step, min_size, max_size;
  std::vector<double> ratios;
};

const std::vector<Level>& levels() {
  static const std::vector<Level> kLevels{{8, 30, 60, {2}},       {16, 60, 111, {2, 3}}, {32, 111, 162, {2, 3}},
                                          {64, 162, 213, {2, 3}}, {100, 213, 264, {2}},  {300, 264, 315, {2}}};
  return kLevels;
}

/// A square, one between it and that of the next level, and each ratio and its inverse.
int64_t priors_at(const Level& level) { return 2 + 2 * static_cast<int64_t>(level.ratios.size()); }

/// Convolutions and pools one after the other, numbered as the published files number them: activations count too.
class Trunk {
 public:
  Trunk(const Scope& scope, Value* x) : scope_(scope), x_(x) {}

  Value* value() const { return x_; }
  void convolve(int64_t in, int64_t out, int64_t kernel = 3, const ConvOptions& options = {.padding = 1}) {
    x_ = ops::relu(Conv2d(in, out, kernel, options).forward(scope_.sub(index_), x_));
    index_ += 2;
  }
  void convolve_often(int64_t in, int64_t out, int count) {
    for (int i = 0; i < count; ++i) convolve(i == 0 ? in : out, out);
  }
  void pool(int64_t kernel, const MaxPoolOptions& options) {
    x_ = MaxPool2d(kernel, options).forward(scope_.sub(index_++), x_);
  }

 private:
  Scope scope_;
  Value* x_;
  size_t index_ = 0;
};

/// Each place divided by its length over the channels, times a factor of each channel.
Value* normalized(const Scope& scope, Value* x, int64_t channels) {
  constexpr double kEpsilon = 1e-10, kScale = 20.0;
  Value* scale = scope.parameter("weight", {channels}, init::constant(kScale));
  Value* length = ops::add(ops::sqrt(ops::reduce_sum(ops::square(x), {1}, true)), kEpsilon);
  return ops::mul(ops::div(x, length), ops::reshape(scale, {channels, 1, 1}));
}

/// The six maps, and their channels.
struct Maps {
  std::vector<Value*> values;
  std::vector<int64_t> channels;
  void add(Value* value, int64_t count) {
    values.push_back(value);
    channels.push_back(count);
  }
};

/// VGG16 up to its fourth stage, and with the last pool and two convolutions in place of its classifier.
void add_trunk(const Scope& scope, Value* x, int64_t width, Maps& maps) {
  const auto narrowed = [&](int64_t channels) { return channels / width; };
  const MaxPoolOptions halves{.stride = 2};
  Trunk trunk(scope.sub("vgg"), x);
  trunk.convolve_often(3, narrowed(64), 2);
  trunk.pool(2, halves);
  trunk.convolve_often(narrowed(64), narrowed(128), 2);
  trunk.pool(2, halves);
  trunk.convolve_often(narrowed(128), narrowed(256), 3);
  trunk.pool(2, {.stride = 2, .ceil_mode = true});
  trunk.convolve_often(narrowed(256), narrowed(512), 3);
  maps.add(normalized(scope.sub("L2Norm"), trunk.value(), narrowed(512)), narrowed(512));
  trunk.pool(2, halves);
  trunk.convolve_often(narrowed(512), narrowed(512), 3);
  trunk.pool(3, {.stride = 1, .padding = 1});
  trunk.convolve(narrowed(512), narrowed(1024), 3, {.padding = 6, .dilation = 6});
  trunk.convolve(narrowed(1024), narrowed(1024), 1, {});
  maps.add(trunk.value(), narrowed(1024));
}

/// Pairs of a narrow 1x1 and a wide 3x3, after each of which a map is taken.
void add_extras(const Scope& scope, int64_t width, Maps& maps) {
  struct Pair {
    int64_t narrow, wide;
    ConvOptions options;
  };
  const std::vector<Pair> pairs{
      {256, 512, {.stride = 2, .padding = 1}}, {128, 256, {.stride = 2, .padding = 1}}, {128, 256, {}}, {128, 256, {}}};
  size_t index = 0;
  for (const Pair& pair : pairs) {
    const int64_t narrow = pair.narrow / width, wide = pair.wide / width;
    Value* y = ops::relu(Conv2d(maps.channels.back(), narrow, 1).forward(scope.sub(index++), maps.values.back()));
    maps.add(ops::relu(Conv2d(narrow, wide, 3, pair.options).forward(scope.sub(index++), y)), wide);
  }
}

/// A convolution whose channels are `numbers` for each prior of a place: [N, places * priors, numbers].
Value* head(const Scope& scope, Value* map, int64_t channels, int64_t priors, int64_t numbers) {
  Value* y = Conv2d(channels, priors * numbers, 3, {.padding = 1}).forward(scope, map);
  return ops::reshape(ops::transpose(y, {0, 2, 3, 1}), {0, -1, numbers});
}

Value* priors_of(Value* map, Value* picture, const Level& level) {
  ops::PriorBoxOptions options;
  options.min_sizes = {level.min_size};
  options.max_sizes = {level.max_size};
  options.aspect_ratios = level.ratios;
  options.clip = true;
  options.step_height = options.step_width = level.step;
  Value* both = ops::prior_box(map, picture, options);
  return ops::reshape(ops::slice(both, {0}, {1}, {1}), {-1, 4});
}

}  // namespace

DetectionHeads Ssd300::forward(const Scope& scope, Value* x) const {
  scope.require(x->shape().rank() == 4 && x->shape()[2] == 300 && x->shape()[3] == 300, "Ssd300",
                "takes pictures [N, 3, 300, 300], got ", x->shape());
  scope.require(options_.classes > 1 && options_.width > 0, "Ssd300", "needs a class besides the background");
  Maps maps;
  add_trunk(scope, x, options_.width, maps);
  add_extras(scope.sub("extras"), options_.width, maps);
  std::vector<Value*> places, logits, priors;
  for (size_t i = 0; i < levels().size(); ++i) {
    const Level& level = levels()[i];
    const int64_t each = priors_at(level);
    places.push_back(head(scope.sub("loc").sub(i), maps.values[i], maps.channels[i], each, 4));
    logits.push_back(head(scope.sub("conf").sub(i), maps.values[i], maps.channels[i], each, options_.classes));
    priors.push_back(priors_of(maps.values[i], x, level));
  }
  return {ops::concat(places, 1), ops::concat(logits, 1), ops::concat(priors, 0)};
}

std::unique_ptr<Graph> ssd300(const Ssd300Options& options, uint64_t seed) {
  auto graph = std::make_unique<Graph>("ssd300");
  Value* x = graph->input("input", {DType::kF32, {kFree, 3, 300, 300}});
  const DetectionHeads heads = Ssd300(options).forward(Scope(*graph, seed), x);
  graph->mark_output(heads.places, "places");
  graph->mark_output(heads.logits, "logits");
  graph->mark_output(heads.priors, "priors");
  return graph;
}

}  // namespace thalweg::nn
