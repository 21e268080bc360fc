// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "thalweg/graph.h"

/// Known models as graphs in training form, with a free batch dimension and one output, "output". Parameters have the
/// names that torchvision or torch.nn would give them. Add a loss (losses.h) and targets to train them.
namespace thalweg::zoo {

/// LeNet-5 with ReLU and max-pooling; input [N, 1, 28, 28].
struct LeNetOptions {
  int64_t classes = 10;
  uint64_t seed = 0;
};
std::unique_ptr<Graph> lenet(const LeNetOptions& options = {});

/// Of the models for pictures; input [N, 3, image_size, image_size].
struct ImageOptions {
  int64_t classes = 1000;
  double dropout = 0.5;
  /// Divides the channels: narrow models for tests.
  int64_t width = 1;
  int64_t image_size = 224;
  uint64_t seed = 0;
};
/// torchvision's AlexNet.
std::unique_ptr<Graph> alexnet(const ImageOptions& options = {});
/// torchvision's VGG without batch norm; depth 11, 13, 16 or 19.
std::unique_ptr<Graph> vgg(int depth, const ImageOptions& options = {});
/// GoogLeNet as published: local response normalisation, no batch norm, no auxiliary heads, pooling rounded up. The
/// published dropout is 0.4.
std::unique_ptr<Graph> inception_v1(const ImageOptions& options = {});
/// Depth 18, 34, 50, 101 or 152; v1.5, where the stride is on the 3x3 convolution. Has no dropout.
std::unique_ptr<Graph> resnet(int depth, const ImageOptions& options = {});
/// torchvision's MobileNet v2; `width` divides before channels are rounded to multiples of 8. The published dropout is
/// 0.2.
std::unique_ptr<Graph> mobilenet_v2(const ImageOptions& options = {});

/// Input "tokens" i64 [N, T] -> embedding -> LSTM -> output of the last step -> linear.
struct LstmTextOptions {
  int64_t vocab = 20000;
  int64_t embed = 200;
  int64_t hidden = 128;
  int64_t classes = 20;
  /// Gradient of the embedding as rows (see nn::EmbeddingOptions).
  bool sparse = false;
  uint64_t seed = 0;
};
std::unique_ptr<Graph> lstm_text(const LstmTextOptions& options = {});

/// Neural matrix factorisation (NeuMF) with MLPerf's sizes and names; inputs "users" and "items" i64 [N], one logit
/// each out.
struct NcfOptions {
  int64_t users = 138493;
  int64_t items = 26744;
  int64_t mf_dim = 64;
  /// The first is the width of the joined user and item embeddings of the perceptron.
  std::vector<int64_t> mlp_layers = {256, 256, 128, 64};
  bool sparse = true;
  uint64_t seed = 0;
};
std::unique_ptr<Graph> ncf(const NcfOptions& options = {});

/// Convolutional LSTM encoder and decoder: `input` frames [N, T, channels, H, W] -> the `steps` frames that follow.
struct ConvLstmOptions {
  int64_t channels = 1;
  int64_t hidden = 8;
  int64_t layers = 2;
  int64_t steps = 5;
  int64_t kernel = 3;
  int64_t time = 5;
  int64_t height = 16;
  int64_t width = 16;
  uint64_t seed = 0;
};
std::unique_ptr<Graph> convlstm(const ConvLstmOptions& options = {});

/// Input "tokens" i64 [N, time] -> embedding and learned positions -> post-norm encoder layers -> mean over time ->
/// linear.
struct TransformerOptions {
  int64_t vocab = 10000;
  int64_t dim = 256;
  int64_t heads = 8;
  int64_t ffn = 1024;
  int64_t layers = 4;
  int64_t time = 128;
  int64_t classes = 20;
  double dropout = 0.1;
  bool sparse = false;
  uint64_t seed = 0;
};
std::unique_ptr<Graph> transformer(const TransformerOptions& options = {});

/// A model by its name ("lenet", "alexnet", "vgg16", "inception_v1", "resnet50", "mobilenet_v2", "lstm_text", "ncf",
/// "convlstm", "transformer", ...), with the options above by theirs. An unknown name or option is an error that lists
/// the nearest.
std::unique_ptr<Graph> build(const std::string& name, const Attributes& options = {});
std::vector<std::string> names();

struct OptionInfo {
  std::string name;
  /// What it is if nobody says it.
  std::string usual;
};
/// Of `build` for the model of this name.
std::vector<OptionInfo> options(const std::string& name);

}  // namespace thalweg::zoo
