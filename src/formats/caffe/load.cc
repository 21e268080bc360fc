// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "base/mapped_file.h"
#include "base/text.h"
#include "formats/caffe/layer_context.h"
#include "formats/caffe/layer_kinds.h"

namespace thalweg::caffe {
namespace {

/// One content that a blob has: a layer that works in place, whose top is called as its bottom, gives the blob another.
struct Version {
  std::string blob;
  /// Null until the layer that makes it has been converted, or the input is read.
  Value* value = nullptr;
  /// The dimensions of an input, which becomes one of the graph when somebody reads it.
  std::optional<std::vector<int64_t>> input = std::nullopt;
  bool left_out = false;
  int readers = 0;
};

class Importer {
 public:
  Importer(const Net& net, const WeightsFile* weights, const LoadOptions& options)
      : net_(net),
        graph_(std::make_unique<Graph>(net.name.empty() ? "net" : net.name)),
        context_{net, weights, options, *graph_} {}

  std::unique_ptr<Graph> run();

 private:
  /// The numbers of versions that a layer reads and makes.
  struct Edges {
    std::vector<size_t> bottoms, tops;
    bool left_out = false;
  };

  void require_supported() const;
  void add_inputs();
  void connect(const Layer& layer);
  size_t find_bottom(const Layer& layer, const std::string& blob) const;
  void add_tops(const Layer& layer, Edges& edges);
  Value* read(size_t version);
  void convert(const Layer& layer, const Edges& edges);
  void mark_outputs();
  void require_all_weights() const;

  const Net& net_;
  std::unique_ptr<Graph> graph_;
  NetContext context_;
  std::vector<Version> versions_;
  std::map<std::string, size_t> current_;
  std::vector<Edges> edges_;
};

void Importer::require_supported() const {
  std::vector<std::string> unknown;
  for (const Layer& layer : net_.layers) {
    if (role_of(layer.type) != Role::kUnknown) continue;
    unknown.push_back(net_.where(layer) + ": near are " + nearest_names(layer.type, supported_types()));
  }
  TW_REQUIRE(unknown.empty(), net_.file, ": ", unknown.size(), unknown.size() == 1 ? " layer is" : " layers are",
             " not supported:\n  ", join(unknown, "\n  "));
}

/// The batch is free whatever the file has for it.
std::vector<int64_t> with_free_batch(std::vector<int64_t> dims) {
  if (!dims.empty()) dims[0] = kFree;
  return dims;
}

void Importer::add_inputs() {
  for (const NetInput& input : net_.inputs) {
    TW_REQUIRE(current_.emplace(input.name, versions_.size()).second, net_.file, ": two inputs are named ",
               printable(input.name));
    versions_.push_back({input.name, nullptr, with_free_batch(input.dims)});
    read(versions_.size() - 1);
  }
}

size_t Importer::find_bottom(const Layer& layer, const std::string& blob) const {
  const auto found = current_.find(blob);
  if (found != current_.end()) return found->second;
  for (const Layer& other : net_.layers) {
    if (std::find(other.tops.begin(), other.tops.end(), blob) == other.tops.end()) continue;
    raise(net_.where(layer), ": its bottom ", printable(blob), " is made by ", net_.where(other),
          ", which comes later: the net is cyclic or out of order");
  }
  std::vector<std::string> known;
  for (const auto& [name, version] : current_) known.push_back(name);
  raise(net_.where(layer), ": nothing makes its bottom ", printable(blob), "; near: ", nearest_names(blob, known));
}

void Importer::add_tops(const Layer& layer, Edges& edges) {
  for (const std::string& top : layer.tops) {
    const bool in_place = std::find(layer.bottoms.begin(), layer.bottoms.end(), top) != layer.bottoms.end();
    TW_REQUIRE(in_place || current_.count(top) == 0, net_.where(layer), ": something before makes its top ",
               printable(top), " as well");
    edges.tops.push_back(versions_.size());
    current_[top] = versions_.size();
    versions_.push_back({top});
    versions_.back().left_out = edges.left_out;
  }
}

void Importer::connect(const Layer& layer) {
  const Role role = role_of(layer.type);
  Edges edges;
  for (const std::string& bottom : layer.bottoms) edges.bottoms.push_back(find_bottom(layer, bottom));
  edges.left_out = role == Role::kLeftOut || std::any_of(edges.bottoms.begin(), edges.bottoms.end(),
                                                         [&](size_t i) { return versions_[i].left_out; });
  // What is silenced is no answer.
  if (!edges.left_out || layer.type == "Silence") {
    for (const size_t bottom : edges.bottoms) ++versions_[bottom].readers;
  }
  add_tops(layer, edges);
  if (role == Role::kInput) {
    const auto shapes = input_shapes(LayerContext(context_, layer, {}, {}));
    for (size_t i = 0; i < edges.tops.size(); ++i) versions_[edges.tops[i]].input = with_free_batch(shapes[i]);
  }
  edges_.push_back(std::move(edges));
}

Value* Importer::read(size_t index) {
  Version& version = versions_[index];
  if (version.value != nullptr || !version.input.has_value()) return version.value;
  TW_REQUIRE(!version.input->empty(), net_.file, ": the file does not say how many dimensions the input ",
             printable(version.blob), " has");
  version.value = graph_->input(version.blob, {DType::kF32, Shape(*version.input)});
  return version.value;
}

void Importer::convert(const Layer& layer, const Edges& edges) {
  std::vector<Value*> bottoms;
  std::vector<bool> sole_reader;
  for (const size_t bottom : edges.bottoms) {
    bottoms.push_back(read(bottom));
    sole_reader.push_back(versions_[bottom].readers == 1);
  }
  LayerContext context(context_, layer, bottoms, sole_reader);
  std::vector<Value*> tops;
  const std::string where = net_.where(layer);
  try {
    tops = (*find_converter(layer.type))(context);
    context.finish();
  } catch (const Error& error) {
    // What the layer says itself begins with its place; what an op says does not.
    if (std::string_view(error.what()).starts_with(net_.file)) throw;
    raise(where, ": ", error.what());
  }
  TW_REQUIRE(tops.size() == edges.tops.size(), where, ": gives ", tops.size(), " tops, and has ", edges.tops.size());
  for (size_t i = 0; i < tops.size(); ++i) versions_[edges.tops[i]].value = tops[i];
}

/// What nobody reads, but inputs.
void Importer::mark_outputs() {
  for (const Version& version : versions_) {
    const bool computed = version.value != nullptr && version.value->kind() == Value::Kind::kComputed;
    if (computed && version.readers == 0) graph_->mark_output(version.value, version.blob);
  }
  TW_REQUIRE(!graph_->outputs().empty(), net_.file, ": the net computes nothing");
}

void Importer::require_all_weights() const {
  TW_REQUIRE(context_.missing.empty(), context_.weights->name(), ": has no weights for ", context_.missing.size(),
             context_.missing.size() == 1 ? " layer of " : " layers of ", net_.file, ": ",
             join(context_.missing, ", "));
}

std::unique_ptr<Graph> Importer::run() {
  require_supported();
  add_inputs();
  for (const Layer& layer : net_.layers) connect(layer);
  for (size_t i = 0; i < net_.layers.size(); ++i) {
    const Layer& layer = net_.layers[i];
    if (layer.type == "Input") {
      for (const size_t top : edges_[i].tops) read(top);
    }
    if (role_of(layer.type) == Role::kComputes && !edges_[i].left_out) convert(layer, edges_[i]);
  }
  require_all_weights();
  mark_outputs();
  graph_->remove_dead_nodes();
  return std::move(graph_);
}

std::unique_ptr<Graph> import_net(std::string_view text, const std::string& file, const WeightsFile* weights,
                                  const LoadOptions& options) {
  const Net net = read_net(text, file);
  return Importer(net, weights, options).run();
}

}  // namespace

std::unique_ptr<Graph> load(const std::string& network, const std::string& weights, const LoadOptions& options) {
  const MappedFile file(network);
  std::optional<WeightsFile> stored;
  if (!weights.empty()) stored.emplace(weights);
  return import_net(file.text(), network, stored.has_value() ? &*stored : nullptr, options);
}

std::unique_ptr<Graph> load_bytes(const std::string& network, const std::string& weights, const LoadOptions& options) {
  std::optional<WeightsFile> stored;
  if (!weights.empty()) stored.emplace(weights, "weights in memory");
  return import_net(network, "network in memory", stored.has_value() ? &*stored : nullptr, options);
}

bool is_network_file(const std::string& path) {
  return std::filesystem::path(path).extension() == ".prototxt" || path.ends_with(".pbtxt");
}

std::string weights_beside(const std::string& network) {
  const std::string path = std::filesystem::path(network).replace_extension(".caffemodel").string();
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) ? path : "";
}

}  // namespace thalweg::caffe
