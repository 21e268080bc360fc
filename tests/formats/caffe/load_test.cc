// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "formats/caffe/weights_bytes.h"
#include "support/error_text.h"
#include "support/op_check.h"
#include "thalweg/caffe.h"

namespace thalweg::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kInput =
    "layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 1 dim: 2 dim: 4 dim: 4 } } }\n";
const std::string kConvolution =
    "layer { name: 'c' type: 'Convolution' bottom: 'data' top: 'c' convolution_param { num_output: 3 kernel_size: 2 } "
    "}\n";

LayerBytes convolution_weights(const std::string& name, size_t weights = 24, size_t biases = 3) {
  return {name, {{{3, 2, 2, 2}, std::vector<float>(weights, 0.5F)}, {{3}, std::vector<float>(biases, 1.0F)}}};
}

std::string failure(const std::string& network, const std::string& weights = "") {
  return error_text([&] { caffe::load_bytes(network, weights); });
}

TEST(CaffeLoad, TakesWeightsOfEveryForm) {
  for (const CaffeForm form : {CaffeForm::kPresent, CaffeForm::kV1, CaffeForm::kV0}) {
    const auto graph = caffe::load_bytes(kInput + kConvolution, caffe_weights({convolution_weights("c")}, form));
    ASSERT_EQ(graph->parameters().size(), 2U);
    EXPECT_EQ(graph->parameters()[0]->name(), "c.weight");
    EXPECT_EQ(graph->parameters()[0]->shape(), (Shape{3, 2, 2, 2}));
    EXPECT_EQ(graph->parameters()[1]->data().data<float>()[2], 1.0F);
    EXPECT_EQ(graph->inputs()[0]->shape(), (Shape{kFree, 2, 4, 4})) << "the batch is free";
    EXPECT_EQ(graph->outputs()[0]->name(), "c");
  }
}

TEST(CaffeLoad, NamesWeightsThatDoNotFit) {
  const std::string network = kInput + kConvolution;
  EXPECT_THAT(
      failure(network, caffe_weights({{"c", {{{3, 2, 3, 3}, std::vector<float>(54)}, {{3}, {0, 0, 0}}}}})),
      AllOf(HasSubstr("layer \"c\" (Convolution)"), HasSubstr("weight is [3,2,2,2]"), HasSubstr("it is [3,2,3,3]")));
  EXPECT_THAT(failure(network, caffe_weights({convolution_weights("c", 23)})),
              AllOf(HasSubstr("weight 0 of layer \"c\" is [3,2,2,2], which has 24 numbers, but the file has 23")));
  EXPECT_THAT(failure(network, caffe_weights({{"c", {{{3, 2, 2, 2}, std::vector<float>(24)}}}})),
              HasSubstr("has 1 weights for it, and none for its bias"));
  EXPECT_THAT(failure(network, caffe_weights({{"d", {{{1}, {0}}}}})), HasSubstr("has no weights for 1 layer of"));
  const int64_t huge = int64_t{1} << 62;
  EXPECT_THAT(failure(network, caffe_weights({{"c", {{{huge, huge}, {0}}}}})), HasSubstr("is too large"));
  EXPECT_THAT(failure(network, caffe_weights({{"c", {{{-3, 2}, {0}}}}})), HasSubstr("a dimension of size -3"));
  EXPECT_THAT(failure(network, "\x89HDF\r\n\x1a\n"), HasSubstr("is an HDF5 file"));
  EXPECT_THAT(failure(network, "not weights at all"), Not(HasSubstr("no error")));
  const std::string more =
      caffe_weights({{"c", {{{3, 2, 2, 2}, std::vector<float>(24)}, {{3}, {0, 0, 0}}, {{1}, {0}}}}});
  EXPECT_THAT(failure(network, more), HasSubstr("takes 2 weights, but weights in memory has 3 for it"));
}

/// Cut at every place: an error, or what is there of it, never a crash.
TEST(CaffeLoad, BearsTruncatedFiles) {
  const std::string network = kInput + kConvolution, weights = caffe_weights({convolution_weights("c")});
  for (size_t cut = 0; cut < network.size(); cut += 7) failure(network.substr(0, cut), weights);
  for (size_t cut = 1; cut + 1 < weights.size(); ++cut) {
    EXPECT_THAT(failure(network, weights.substr(0, cut)), Not(HasSubstr("no error"))) << cut;
  }
}

TEST(CaffeLoad, ListsAllLayersThatAreNotSupported) {
  const std::string text = failure(kInput + "layer { name: 'p' type: 'Python' bottom: 'data' top: 'p' }\n" +
                                   kConvolution + "layer { name: 'q' type: 'Convolutoin' bottom: 'c' top: 'q' }");
  EXPECT_THAT(text, AllOf(HasSubstr("2 layers are not supported"), HasSubstr("layer \"p\" (Python)"),
                          HasSubstr("layer \"q\" (Convolutoin): near are Convolution")));
}

TEST(CaffeLoad, NamesTheLayerWhoseBottomsAreNotThere) {
  EXPECT_THAT(failure(kInput + "layer { name: 'r' type: 'ReLU' bottom: 'dada' top: 'r' }"),
              AllOf(HasSubstr("layer \"r\" (ReLU)"), HasSubstr("nothing makes its bottom \"dada\"; near: data")));
  EXPECT_THAT(
      failure(kInput + "layer { name: 'a' type: 'Eltwise' bottom: 'data' bottom: 'y' top: 'x' }\n"
                       "layer { name: 'b' type: 'ReLU' bottom: 'x' top: 'y' }"),
      AllOf(HasSubstr("layer \"a\" (Eltwise)"), HasSubstr("\"y\" is made by"), HasSubstr("cyclic or out of order")));
  EXPECT_THAT(failure(kInput + kConvolution + "layer { name: 'd' type: 'ReLU' bottom: 'data' top: 'c' }"),
              HasSubstr("layer \"d\" (ReLU): something before makes its top \"c\" as well"));
  EXPECT_THAT(failure(kInput + kConvolution + kConvolution), HasSubstr("two layers are named \"c\""));
}

TEST(CaffeLoad, NamesFieldsThatAreNotUnderstood) {
  EXPECT_THAT(failure(kInput + "layer { name: 'c' type: 'Convolution' bottom: 'data' top: 'c'\n convolution_param { "
                               "num_output: 3 kernal_size: 2 } }"),
              HasSubstr("needs a kernel_size"));
  EXPECT_THAT(
      failure(kInput + "layer { name: 'r' type: 'ReLU' bottom: 'data' top: 'r' relu_param { negative_slop: 1 } }"),
      AllOf(HasSubstr("line 2"), HasSubstr("\"negative_slop\""), HasSubstr("negative_slope")));
  EXPECT_THAT(failure(kInput + "layer { name: 'r' type: 'ReLU' botom: 'data' top: 'r' }"),
              HasSubstr("a layer has no field \"botom\""));
  EXPECT_THAT(failure(""), HasSubstr("there is no layer in it"));
}

/// What a training file has for its losses and its data is not needed to use the network, or to train it here.
TEST(CaffeLoad, TakesTheNetworkOutOfATrainingFile) {
  const auto graph = caffe::load_bytes(
      "layer { name: 'd' type: 'Data' top: 'data' top: 'label' include { phase: TRAIN } data_param { source: 'a' } }\n"
      "layer { name: 'd' type: 'Data' top: 'data' top: 'label' include { phase: TEST } data_param { source: 'b' }\n"
      "  transform_param { crop_size: 8 mean_value: 1 mean_value: 2 mean_value: 3 } }\n"
      "layer { name: 'fc' type: 'InnerProduct' bottom: 'data' top: 'fc' inner_product_param { num_output: 5\n"
      "  weight_filler { type: 'xavier' } bias_filler { type: 'constant' value: 0.25 } } param { lr_mult: 1 } param { "
      "lr_mult: 0 } }\n"
      "layer { name: 'drop' type: 'Dropout' bottom: 'fc' top: 'fc' include { stage: 'never' } }\n"
      "layer { name: 'acc' type: 'Accuracy' bottom: 'fc' bottom: 'label' top: 'acc' include { phase: TEST } }\n"
      "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'fc' bottom: 'label' top: 'loss' }\n"
      "layer { name: 'double' type: 'Power' bottom: 'loss' top: 'twice' power_param { scale: 2 } }");
  ASSERT_EQ(graph->inputs().size(), 1U);
  EXPECT_EQ(graph->inputs()[0]->shape(), (Shape{kFree, 3, 8, 8}));
  ASSERT_EQ(graph->outputs().size(), 1U);
  EXPECT_EQ(graph->outputs()[0]->name(), "fc");
  const Tensor weight = graph->parameters()[0]->data();
  EXPECT_EQ(weight.shape(), (Shape{5, 192}));
  for (int64_t i = 0; i < weight.num_elements(); ++i)
    EXPECT_LE(std::abs(weight.data<float>()[i]), std::sqrt(3.0 / 192));
  EXPECT_TRUE(graph->parameters()[0]->trainable());
  EXPECT_FALSE(graph->parameters()[1]->trainable());
  EXPECT_EQ(graph->parameters()[1]->data().data<float>()[4], 0.25F);
}

TEST(CaffeLoad, SharesWeightsByTheirNames) {
  const std::string one =
      "layer { name: 'a' type: 'InnerProduct' bottom: 'data' top: 'a' param { name: 'w' } inner_product_param { "
      "num_output: 2 bias_term: false } }\n";
  const std::string two =
      "layer { name: 'b' type: 'InnerProduct' bottom: 'data' top: 'b' param { name: 'w' } inner_product_param { "
      "num_output: 2 bias_term: false } }\n";
  EXPECT_EQ(caffe::load_bytes(kInput + one + two)->parameters().size(), 1U);
  const std::string other =
      "layer { name: 'b' type: 'InnerProduct' bottom: 'data' top: 'b' param { name: 'w' } inner_product_param { "
      "num_output: 3 bias_term: false } }\n";
  EXPECT_THAT(failure(kInput + one + other), HasSubstr("that it shares is [2,32]"));
}

/// The first form: all parameters of all kinds in one message, and padding as a layer of its own.
TEST(CaffeLoad, ReadsTheFirstForm) {
  const auto graph = caffe::load_bytes(
      "input: 'data' input_dim: 1 input_dim: 2 input_dim: 4 input_dim: 4\n"
      "layers { layer { name: 'pad' type: 'padding' pad: 1 } bottom: 'data' top: 'pad' }\n"
      "layers { layer { name: 'c' type: 'conv' num_output: 3 kernelsize: 2 stride: 1 biasterm: true blobs_lr: 1. "
      "blobs_lr: 0. } bottom: 'pad' top: 'c' }\n"
      "layers { layer { name: 'p' type: 'pool' kernelsize: 2 stride: 2 pool: AVE } bottom: 'c' top: 'p' }\n"
      "layers { layer { name: 'ip' type: 'innerproduct' num_output: 4 } bottom: 'p' top: 'ip' }\n"
      "layers { layer { name: 'prob' type: 'softmax' } bottom: 'ip' top: 'prob' }",
      caffe_weights({convolution_weights("c"), {"ip", {{{4, 27}, std::vector<float>(108)}, {{4}, {0, 0, 0, 0}}}}},
                    CaffeForm::kV0));
  EXPECT_EQ(graph->outputs()[0]->shape(), (Shape{kFree, 4}));
  EXPECT_FALSE(graph->parameters()[1]->trainable());
  EXPECT_THAT(failure("layers { name: 'c' type: NO_SUCH_LAYER top: 'c' }"), HasSubstr("layer \"c\" (NO_SUCH_LAYER)"));
}

}  // namespace
}  // namespace thalweg::testing
