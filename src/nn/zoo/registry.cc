// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <map>
#include <sstream>

#include "base/text.h"
#include "thalweg/zoo.h"

namespace thalweg::zoo {
namespace {

/// Reads options by name and remembers which there are, with what they are without being said, so that any other is an
/// error.
class Reader {
 public:
  Reader(std::string model, const Attributes& options) : model_(std::move(model)), options_(options) {}

  void operator()(const char* name, int64_t& value) { value = known(name, value).integer(name, value); }
  void operator()(const char* name, uint64_t& value) {
    value = static_cast<uint64_t>(known(name, value).integer(name, static_cast<int64_t>(value)));
  }
  void operator()(const char* name, double& value) { value = known(name, value).real(name, value); }
  void operator()(const char* name, bool& value) { value = known(name, value ? "true" : "false").flag(name, value); }
  void operator()(const char* name, std::vector<int64_t>& value) {
    std::string usual;
    for (const int64_t one : value) usual += (usual.empty() ? "" : ", ") + std::to_string(one);
    value = known(name, "[" + usual + "]").integers(name, value);
  }

  void finish() const {
    std::vector<std::string> names;
    for (const OptionInfo& option : seen_) names.push_back(option.name);
    for (const auto& [name, value] : options_.items()) {
      const bool found = std::find(names.begin(), names.end(), name) != names.end();
      TW_REQUIRE(found, model_, " has no option '", name, "'; did you mean ", nearest_names(name, names), "?");
    }
  }
  const std::vector<OptionInfo>& seen() const { return seen_; }

 private:
  template <typename T>
  const Attributes& known(const char* name, const T& usual) {
    std::ostringstream text;
    text << usual;
    seen_.push_back({name, text.str()});
    return options_;
  }
  std::string model_;
  const Attributes& options_;
  std::vector<OptionInfo> seen_;
};

void read_options(Reader& read, ImageOptions& o) {
  read("classes", o.classes);
  read("dropout", o.dropout);
  read("width", o.width);
  read("image_size", o.image_size);
  read("seed", o.seed);
}

void read_options(Reader& read, LeNetOptions& o) {
  read("classes", o.classes);
  read("seed", o.seed);
}

void read_options(Reader& read, LstmTextOptions& o) {
  read("vocab", o.vocab);
  read("embed", o.embed);
  read("hidden", o.hidden);
  read("classes", o.classes);
  read("sparse", o.sparse);
  read("seed", o.seed);
}

void read_options(Reader& read, NcfOptions& o) {
  read("users", o.users);
  read("items", o.items);
  read("mf_dim", o.mf_dim);
  read("mlp_layers", o.mlp_layers);
  read("sparse", o.sparse);
  read("seed", o.seed);
}

void read_options(Reader& read, ConvLstmOptions& o) {
  read("channels", o.channels);
  read("hidden", o.hidden);
  read("layers", o.layers);
  read("steps", o.steps);
  read("kernel", o.kernel);
  read("time", o.time);
  read("height", o.height);
  read("width", o.width);
  read("seed", o.seed);
}

void read_options(Reader& read, TransformerOptions& o) {
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
}

struct Entry {
  std::function<void(Reader&)> read;
  std::function<std::unique_ptr<Graph>(Reader&)> build;
};

template <typename Options, typename Build>
Entry entry(Build build) {
  return {[](Reader& read) {
            Options options;
            read_options(read, options);
          },
          [build](Reader& read) {
            Options options;
            read_options(read, options);
            read.finish();
            return build(options);
          }};
}

const std::map<std::string, Entry>& entries() {
  static const std::map<std::string, Entry> known = [] {
    std::map<std::string, Entry> result = {{"lenet", entry<LeNetOptions>(lenet)},
                                           {"alexnet", entry<ImageOptions>(alexnet)},
                                           {"lstm_text", entry<LstmTextOptions>(lstm_text)},
                                           {"inception_v1", entry<ImageOptions>(inception_v1)},
                                           {"mobilenet_v2", entry<ImageOptions>(mobilenet_v2)},
                                           {"ncf", entry<NcfOptions>(ncf)},
                                           {"convlstm", entry<ConvLstmOptions>(convlstm)},
                                           {"transformer", entry<TransformerOptions>(transformer)}};
    for (int depth : {11, 13, 16, 19}) {
      result["vgg" + std::to_string(depth)] =
          entry<ImageOptions>([depth](const ImageOptions& options) { return vgg(depth, options); });
    }
    for (int depth : {18, 34, 50, 101, 152}) {
      result["resnet" + std::to_string(depth)] =
          entry<ImageOptions>([depth](const ImageOptions& options) { return resnet(depth, options); });
    }
    return result;
  }();
  return known;
}

const Entry& entry_of(const std::string& name) {
  const auto found = entries().find(name);
  TW_REQUIRE(found != entries().end(), "there is no model '", name, "' in the zoo; did you mean ",
             nearest_names(name, names()), "?");
  return found->second;
}

}  // namespace

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const auto& [name, entry] : entries()) result.push_back(name);
  return result;
}

std::vector<OptionInfo> options(const std::string& name) {
  const Attributes nothing;
  Reader reader(name, nothing);
  entry_of(name).read(reader);
  return reader.seen();
}

std::unique_ptr<Graph> build(const std::string& name, const Attributes& options) {
  Reader reader(name, options);
  return entry_of(name).build(reader);
}

}  // namespace thalweg::zoo
