// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "nn/zoo/image.h"

namespace thalweg::zoo {
namespace {

struct Block {
  const char* name;
  int64_t c1, c3_reduce, c3, c5_reduce, c5, pool;
  bool pool_before;
};

constexpr Block kBlocks[] = {
    {"inception3a", 64, 96, 128, 16, 32, 32, false},     {"inception3b", 128, 128, 192, 32, 96, 64, false},
    {"inception4a", 192, 96, 208, 16, 48, 64, true},     {"inception4b", 160, 112, 224, 24, 64, 64, false},
    {"inception4c", 128, 128, 256, 24, 64, 64, false},   {"inception4d", 112, 144, 288, 32, 64, 64, false},
    {"inception4e", 256, 160, 320, 32, 128, 128, false}, {"inception5a", 256, 160, 320, 32, 128, 128, true},
    {"inception5b", 384, 192, 384, 48, 128, 128, false},
};

/// A convolution called conv, then ReLU.
nn::Sequential conv_relu(int64_t in, int64_t out, int64_t kernel, int64_t padding = 0, int64_t stride = 1) {
  return nn::Sequential{
      {"conv", nn::Conv2d(in, out, kernel, {.stride = stride, .padding = padding})},
      nn::ReLU(),
  };
}

/// 1x1; 1x1 -> 3x3; 1x1 -> 5x5; 3x3 max-pool -> 1x1; joined by channel.
nn::Concat inception(int64_t in, const Block& b, int64_t width) {
  const auto c = [width](int64_t channels) { return channels / width; };
  return nn::Concat{
      {"branch1", conv_relu(in, c(b.c1), 1)},
      {"branch2", nn::Sequential{conv_relu(in, c(b.c3_reduce), 1), conv_relu(c(b.c3_reduce), c(b.c3), 3, 1)}},
      {"branch3", nn::Sequential{conv_relu(in, c(b.c5_reduce), 1), conv_relu(c(b.c5_reduce), c(b.c5), 5, 2)}},
      {"branch4", nn::Sequential{nn::MaxPool2d(3, {.stride = 1, .padding = 1}), conv_relu(in, c(b.pool), 1)}},
  };
}

}  // namespace

std::unique_ptr<Graph> inception_v1(const ImageOptions& options) {
  auto graph = std::make_unique<Graph>("inception_v1");
  Value* x = picture_input(*graph, options);
  const int64_t width = options.width;
  const nn::MaxPool2d pool(3, {.stride = 2, .ceil_mode = true});
  nn::Sequential model{
      {"conv1", conv_relu(3, 64 / width, 7, 3, 2)},
      {"maxpool1", pool},
      {"norm1", nn::LocalResponseNorm(5)},
      {"conv2", conv_relu(64 / width, 64 / width, 1)},
      {"conv3", conv_relu(64 / width, 192 / width, 3, 1)},
      {"norm2", nn::LocalResponseNorm(5)},
      {"maxpool2", pool},
  };
  int64_t channels = 192 / width;
  for (const Block& block : kBlocks) {
    if (block.pool_before) model.add(pool);
    model.add({block.name, inception(channels, block, width)});
    channels = block.c1 / width + block.c3 / width + block.c5 / width + block.pool / width;
  }
  model.add({"avgpool", nn::AdaptiveAvgPool2d(1)}).add(nn::Flatten()).add({"dropout", nn::Dropout(options.dropout)});
  model.add({"fc", nn::Linear(channels, options.classes)});
  graph->mark_output(model.forward(nn::Scope(*graph, options.seed), x), "output");
  return graph;
}

}  // namespace thalweg::zoo
