// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <map>

#include "base/text.h"
#include "thalweg/zoo.h"

namespace thalweg::zoo {
namespace {

/// Reads options by name and remembers which names there are, so that any other is an error.
class Reader {
 public:
  Reader(std::string model, const Attributes& options) : model_(std::move(model)), options_(options) {}

  void operator()(const char* name, int64_t& value) { value = known(name).integer(name, value); }
  void operator()(const char* name, uint64_t& value) {
    value = static_cast<uint64_t>(known(name).integer(name, static_cast<int64_t>(value)));
  }
  void operator()(const char* name, double& value) { value = known(name).real(name, value); }
  void operator()(const char* name, bool& value) { value = known(name).flag(name, value); }
  void operator()(const char* name, std::vector<int64_t>& value) { value = known(name).integers(name, value); }

  void finish() const {
    for (const auto& [name, value] : options_.items()) {
      const bool found = std::find(names_.begin(), names_.end(), name) != names_.end();
      TW_REQUIRE(found, model_, " has no option '", name, "'; did you mean ", nearest_names(name, names_), "?");
    }
  }

 private:
  const Attributes& known(const char* name) {
    names_.emplace_back(name);
    return options_;
  }
  std::string model_;
  const Attributes& options_;
  std::vector<std::string> names_;
};

using Builder = std::function<std::unique_ptr<Graph>(Reader&)>;

Builder image_model(const std::function<std::unique_ptr<Graph>(const ImageOptions&)>& build) {
  return [build](Reader& read) {
    ImageOptions o;
    read("classes", o.classes);
    read("dropout", o.dropout);
    read("width", o.width);
    read("image_size", o.image_size);
    read("seed", o.seed);
    read.finish();
    return build(o);
  };
}

std::unique_ptr<Graph> read_lenet(Reader& read) {
  LeNetOptions o;
  read("classes", o.classes);
  read("seed", o.seed);
  read.finish();
  return lenet(o);
}

std::unique_ptr<Graph> read_lstm_text(Reader& read) {
  LstmTextOptions o;
  read("vocab", o.vocab);
  read("embed", o.embed);
  read("hidden", o.hidden);
  read("classes", o.classes);
  read("sparse", o.sparse);
  read("seed", o.seed);
  read.finish();
  return lstm_text(o);
}

std::unique_ptr<Graph> read_ncf(Reader& read) {
  NcfOptions o;
  read("users", o.users);
  read("items", o.items);
  read("mf_dim", o.mf_dim);
  read("mlp_layers", o.mlp_layers);
  read("sparse", o.sparse);
  read("seed", o.seed);
  read.finish();
  return ncf(o);
}

std::unique_ptr<Graph> read_convlstm(Reader& read) {
  ConvLstmOptions o;
  read("channels", o.channels);
  read("hidden", o.hidden);
  read("layers", o.layers);
  read("steps", o.steps);
  read("kernel", o.kernel);
  read("time", o.time);
  read("height", o.height);
  read("width", o.width);
  read("seed", o.seed);
  read.finish();
  return convlstm(o);
}

std::unique_ptr<Graph> read_transformer(Reader& read) {
  TransformerOptions o;
  read("vocab", o.vocab);
  read("dim", o.dim);
  read("heads", o.heads);
  read("ffn", o.ffn);
  read("layers", o.layers);
  read("time", o.time);
  read("classes", o.classes);
  read("dropout", o.dropout);
  read("sparse", o.sparse);
  read("seed", o.seed);
  read.finish();
  return transformer(o);
}

const std::map<std::string, Builder>& builders() {
  static const std::map<std::string, Builder> known = [] {
    std::map<std::string, Builder> result = {{"lenet", read_lenet},
                                             {"alexnet", image_model(alexnet)},
                                             {"lstm_text", read_lstm_text},
                                             {"inception_v1", image_model(inception_v1)},
                                             {"mobilenet_v2", image_model(mobilenet_v2)},
                                             {"ncf", read_ncf},
                                             {"convlstm", read_convlstm},
                                             {"transformer", read_transformer}};
    for (int depth : {11, 13, 16, 19}) {
      result["vgg" + std::to_string(depth)] = image_model([depth](const ImageOptions& o) { return vgg(depth, o); });
    }
    for (int depth : {18, 34, 50, 101, 152}) {
      result["resnet" + std::to_string(depth)] =
          image_model([depth](const ImageOptions& o) { return resnet(depth, o); });
    }
    return result;
  }();
  return known;
}

}  // namespace

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const auto& [name, builder] : builders()) result.push_back(name);
  return result;
}

std::unique_ptr<Graph> build(const std::string& name, const Attributes& options) {
  const auto found = builders().find(name);
  TW_REQUIRE(found != builders().end(), "there is no model '", name, "' in the zoo; did you mean ",
             nearest_names(name, names()), "?");
  Reader reader(name, options);
  return found->second(reader);
}

}  // namespace thalweg::zoo
