// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph_file.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "thalweg/safetensors.h"

namespace thalweg {
namespace {

using nlohmann::json;

constexpr const char* kProperty = "thalweg.graph";
/// Changes whenever a file of before means something else, or nothing.
constexpr int kVersion = 1;

json type_to_json(const TensorType& type) { return {{"dtype", name_of(type.dtype)}, {"shape", type.shape.dims()}}; }

TensorType type_from_json(const json& object) {
  return {dtype_from_name(object.at("dtype").get<std::string>()),
          Shape(object.at("shape").get<std::vector<int64_t>>())};
}

/// As text: JSON has no infinity, and the number must come back to the last bit.
json real_to_json(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return std::string(text, end);
}

double real_from_json(const json& value) {
  const auto text = value.get<std::string>();
  double result = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), result);
  TW_REQUIRE(failure == std::errc() && end == text.data() + text.size(), "'", text, "' is no number");
  return result;
}

/// Turns graphs into JSON; tensors go into a list of their own.
class GraphWriter {
 public:
  using Weight = std::function<Tensor(const std::string& name)>;
  explicit GraphWriter(const Weight& weight) : weight_(weight) {}

  json write(const Graph& graph) {
    Numbers numbers;
    json result = {{"name", graph.name()}};
    for (json& list : {std::ref(result["inputs"]), std::ref(result["held"]), std::ref(result["constants"]),
                       std::ref(result["nodes"]), std::ref(result["outputs"]), std::ref(result["assignments"])}) {
      list = json::array();
    }
    for (const Value* value : graph.inputs()) {
      numbers.add(value);
      result["inputs"].push_back({{"name", value->name()}, {"type", type_to_json(value->type())}});
    }
    for (const Value* value : graph.parameters()) result["held"].push_back(write_held(value, numbers));
    for (const Value* value : graph.states()) result["held"].push_back(write_held(value, numbers));
    for (const Value* value : graph.constants()) {
      numbers.add(value);
      const bool named = graph.find(value->name()) == value;
      result["constants"].push_back({{"name", named ? value->name() : ""}, {"tensor", keep(value->data())}});
    }
    for (const auto& node : graph.nodes()) result["nodes"].push_back(write_node(*node, numbers));
    for (const Value* value : graph.outputs()) result["outputs"].push_back(numbers.of(value));
    for (const auto& [state, value] : graph.assignments()) {
      result["assignments"].push_back({numbers.of(state), numbers.of(value)});
    }
    return result;
  }
  std::vector<NamedTensor> take_tensors() { return std::move(tensors_); }

 private:
  /// Values are numbered in the order in which a reader meets them.
  struct Numbers {
    std::unordered_map<const Value*, int64_t> numbers;
    void add(const Value* value) { numbers.emplace(value, static_cast<int64_t>(numbers.size())); }
    json of(const Value* value) const { return value == nullptr ? json(nullptr) : json(numbers.at(value)); }
  };

  json write_held(const Value* value, Numbers& numbers) {
    numbers.add(value);
    const bool state = value->kind() == Value::Kind::kState;
    return {{"name", value->name()},
            {"state", state},
            {"trainable", value->trainable()},
            {"tensor", keep(weight_ ? weight_(value->name()) : value->data())}};
  }

  json write_node(const Node& node, Numbers& numbers) {
    json inputs = json::array(), names = json::array(), attributes = json::object();
    for (const Value* value : node.inputs()) inputs.push_back(numbers.of(value));
    for (const Value* value : node.outputs()) {
      numbers.add(value);
      names.push_back(value->name());
    }
    for (const auto& [name, item] : node.attrs().items()) attributes[name] = write_attribute(item);
    return {
        {"op", node.op_name()}, {"name", node.name()}, {"inputs", inputs}, {"outputs", names}, {"attrs", attributes}};
  }

  json write_attribute(const Attributes::Item& item) {
    struct Visitor {
      GraphWriter& writer;
      json operator()(int64_t value) const { return {{"integer", value}}; }
      json operator()(double value) const { return {{"real", real_to_json(value)}}; }
      json operator()(const std::string& value) const { return {{"text", value}}; }
      json operator()(const std::vector<int64_t>& values) const { return {{"integers", values}}; }
      json operator()(const std::vector<double>& values) const {
        json list = json::array();
        for (const double value : values) list.push_back(real_to_json(value));
        return {{"reals", list}};
      }
      json operator()(const std::vector<std::string>& values) const { return {{"texts", values}}; }
      json operator()(const Tensor& value) const { return {{"tensor", writer.keep(value)}}; }
      json operator()(const std::shared_ptr<Graph>& value) const { return {{"graph", writer.write(*value)}}; }
    };
    return std::visit(Visitor{*this}, item);
  }

  std::string keep(const Tensor& tensor) {
    TW_REQUIRE(tensor.defined(), "a weight has no content: it is held elsewhere");
    tensors_.push_back({std::to_string(tensors_.size()), tensor});
    return tensors_.back().name;
  }

  const Weight& weight_;
  std::vector<NamedTensor> tensors_;
};

class GraphReader {
 public:
  explicit GraphReader(const SafetensorsFile& file) : file_(file) {}

  std::unique_ptr<Graph> read(const json& object) {
    auto graph = std::make_unique<Graph>(object.at("name").get<std::string>());
    std::vector<Value*> values;
    const auto value_of = [&](const json& number) -> Value* {
      if (number.is_null()) return nullptr;
      const auto index = number.get<size_t>();
      TW_REQUIRE(index < values.size(), "value ", index, " is used before it exists");
      return values[index];
    };
    for (const json& input : object.at("inputs")) {
      values.push_back(graph->input(input.at("name").get<std::string>(), type_from_json(input.at("type"))));
    }
    for (const json& held : object.at("held")) values.push_back(read_held(held, *graph));
    for (const json& constant : object.at("constants")) {
      values.push_back(graph->constant(tensor(constant), constant.at("name").get<std::string>()));
    }
    for (const json& entry : object.at("nodes")) {
      std::vector<Value*> inputs;
      for (const json& number : entry.at("inputs")) inputs.push_back(value_of(number));
      read_node(entry, std::move(inputs), *graph, values);
    }
    for (const json& number : object.at("outputs")) graph->mark_output(required(value_of(number)));
    for (const json& pair : object.at("assignments")) {
      graph->assign(required(value_of(pair.at(0))), required(value_of(pair.at(1))));
    }
    return graph;
  }

 private:
  static Value* required(Value* value) {
    TW_REQUIRE(value != nullptr, "a value is missing");
    return value;
  }
  Tensor tensor(const json& object) const { return file_.load(object.at("tensor").get<std::string>()); }

  Value* read_held(const json& held, Graph& graph) const {
    const auto name = held.at("name").get<std::string>();
    if (held.at("state").get<bool>()) return graph.state(name, tensor(held));
    return graph.parameter(name, tensor(held), held.at("trainable").get<bool>());
  }

  void read_node(const json& entry, std::vector<Value*> inputs, Graph& graph, std::vector<Value*>& values) {
    Attributes attributes;
    for (const auto& [name, item] : entry.at("attrs").items()) attributes.set(name, read_attribute(item));
    const Node* node = graph.add(entry.at("op").get<std::string>(), std::move(inputs), std::move(attributes),
                                 entry.at("name").get<std::string>());
    const json& names = entry.at("outputs");
    TW_REQUIRE(names.size() == node->outputs().size(), describe(*node), " has ", node->outputs().size(),
               " outputs, the file says ", names.size());
    for (size_t i = 0; i < names.size(); ++i) {
      node->output(i)->set_name(names[i].get<std::string>());
      values.push_back(node->output(i));
    }
  }

  Attributes::Item read_attribute(const json& item) {
    TW_REQUIRE(item.is_object() && item.size() == 1, "an attribute is no value");
    const std::string kind = item.begin().key();
    const json& value = item.begin().value();
    if (kind == "integer") return value.get<int64_t>();
    if (kind == "real") return real_from_json(value);
    if (kind == "text") return value.get<std::string>();
    if (kind == "integers") return value.get<std::vector<int64_t>>();
    if (kind == "texts") return value.get<std::vector<std::string>>();
    if (kind == "tensor") return tensor(item);
    if (kind == "graph") return std::shared_ptr<Graph>(read(value));
    TW_REQUIRE(kind == "reals", "an attribute is of the unknown kind '", kind, "'");
    std::vector<double> reals;
    for (const json& one : value) reals.push_back(real_from_json(one));
    return reals;
  }

  const SafetensorsFile& file_;
};

}  // namespace

void save_graph(const Graph& graph, const std::string& path,
                const std::function<Tensor(const std::string& name)>& weight) {
  GraphWriter writer(weight);
  const json description = {{"version", kVersion}, {"graph", writer.write(graph)}};
  save_safetensors(path, writer.take_tensors(), {{kProperty, description.dump()}});
}

std::unique_ptr<Graph> load_graph(const std::string& path) {
  const SafetensorsFile file(path);
  const auto found = file.metadata().find(kProperty);
  TW_REQUIRE(found != file.metadata().end(), path, ": is no graph that was saved for training");
  try {
    const json description = json::parse(found->second);
    const auto version = description.at("version").get<int>();
    TW_REQUIRE(version == kVersion, "it was written by another version of Thalweg (", version, ", this one reads ",
               kVersion, ")");
    return GraphReader(file).read(description.at("graph"));
  } catch (const json::exception& error) {
    raise(path, ": the graph cannot be read: ", error.what());
  } catch (const Error& error) {
    raise(path, ": the graph cannot be read: ", error.what());
  }
}

}  // namespace thalweg
