// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/import_graph.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "formats/onnx/converter.h"
#include "formats/onnx/graph_attributes.h"
#include "formats/onnx/training_form.h"

namespace thalweg::onnx {

std::string describe(const NodeProto& node) {
  std::string text = (node.domain.empty() ? "" : node.domain + ".") + node.op_type;
  if (!node.name.empty()) return text + " " + printable(node.name);
  return text + (node.output.empty() ? "" : " making " + printable(node.output[0]));
}

namespace {

/// A tensor with an element type and a number of dimensions that are known; unknown dimensions are free.
std::optional<TensorType> declared_type(const ValueInfoProto& info) {
  const auto dtype = dtype_of(info.type.elem_type);
  if (info.type.kind != TypeProto::Kind::kTensor || !dtype.has_value() || !info.type.has_shape) return std::nullopt;
  std::vector<int64_t> dims;
  for (const Dimension& dimension : info.type.shape) dims.push_back(dimension.value >= 0 ? dimension.value : kFree);
  return TensorType{*dtype, Shape(std::move(dims))};
}

/// Whether an initialiser is a weight, rather than a shape, an axis or a single number.
bool is_weight(const TensorProto& tensor) {
  const auto dtype = dtype_of(tensor.data_type);
  if (!dtype.has_value() || !is_floating(*dtype) || tensor.name.empty() || tensor.dims.empty()) return false;
  const auto is = [&](int64_t extent) {
    return std::all_of(tensor.dims.begin(), tensor.dims.end(), [&](int64_t dim) { return dim == extent; });
  };
  return !is(1) && std::find(tensor.dims.begin(), tensor.dims.end(), 0) == tensor.dims.end();
}

/// Inputs of a batch norm that are statistics rather than weights.
constexpr size_t kBatchNormMean = 3;
constexpr size_t kBatchNormVariance = 4;

bool is_batch_norm(const NodeProto& node) {
  return node.op_type == "BatchNormalization" && normal_domain(node.domain).empty() &&
         node.input.size() > kBatchNormVariance;
}

bool in_training_mode(const NodeProto& node) {
  return std::any_of(node.attribute.begin(), node.attribute.end(), [](const AttributeProto& attribute) {
    return attribute.name == "training_mode" && attribute.i != 0;
  });
}

/// Which values of a model's outermost graph are weights, and what becomes of them in training.
class WeightRoles {
 public:
  WeightRoles(const ModelFile& model, std::optional<BatchNormTraining> asked) {
    for (const auto& [key, value] : model.proto.metadata_props) {
      if (key == TrainingForm::kProperty) form_ = TrainingForm::from_text(value);
    }
    const GraphProto& graph = model.proto.graph;
    std::unordered_map<std::string, const TensorProto*> initializers;
    for (const TensorProto& tensor : graph.initializer) initializers.emplace(tensor.name, &tensor);
    const std::unordered_set<std::string> read = read_values(graph);
    for (const NodeProto& node : graph.node) {
      if (!is_batch_norm(node)) continue;
      const bool declared = form_.has_value() ? form_->batch_norms_learn : in_training_mode(node);
      const bool wanted = asked.has_value() ? *asked == BatchNormTraining::kLearned : declared;
      bool can = true;
      for (size_t i = 1; i <= kBatchNormVariance; ++i) {
        const auto found = initializers.find(node.input[i]);
        can = can && found != initializers.end() && found->second->data_type == DataType::kFloat;
      }
      for (size_t i = 1; i < node.output.size(); ++i) can = can && read.count(node.output[i]) == 0;
      for (const size_t i : {kBatchNormMean, kBatchNormVariance}) {
        (wanted && can ? states_ : statistics_).insert(node.input[i]);
      }
    }
  }

  bool is_state(const std::string& name) const {
    return states_.count(name) > 0 || (form_.has_value() && form_->states.count(name) > 0);
  }
  bool is_parameter(const TensorProto& tensor) const {
    return is_weight(tensor) || (form_.has_value() && form_->is_weight(tensor.name));
  }
  bool is_trained(const std::string& name, DType dtype) const {
    if (dtype != DType::kF32 || statistics_.count(name) > 0) return false;
    return form_.has_value() ? form_->trained.count(name) > 0 : true;
  }
  /// Whether a batch norm that reads these statistics learns.
  bool learns(const NodeProto& norm) const { return states_.count(norm.input[kBatchNormMean]) > 0; }
  const std::optional<TrainingForm>& form() const { return form_; }

 private:
  static std::unordered_set<std::string> read_values(const GraphProto& graph) {
    std::unordered_set<std::string> names;
    for (const NodeProto& node : graph.node) names.insert(node.input.begin(), node.input.end());
    for (const ValueInfoProto& info : graph.output) names.insert(info.name);
    return names;
  }

  /// What the file itself says.
  std::optional<TrainingForm> form_;
  std::unordered_set<std::string> states_, statistics_;
};

/// One graph of a model, and through `outer_` those around it.
class GraphImporter {
 public:
  GraphImporter(const std::shared_ptr<const ModelFile>& model, const WeightRoles& roles, const GraphProto& proto,
                GraphImporter* outer)
      : model_(model),
        roles_(roles),
        proto_(proto),
        outer_(outer),
        graph_(std::make_unique<Graph>(proto.name.empty() ? "model" : proto.name)) {}

  std::unique_ptr<Graph> run();
  std::vector<StoredWeight> take_weights() { return std::move(weights_); }
  /// Values of the graph around this one that it reads; they are its last inputs, in this order.
  const std::vector<Value*>& captures() const { return captures_; }

 private:
  /// Null if there is no such value, or not yet.
  Value* find(const std::string& name);
  Value* define_initializer(const TensorProto& tensor);
  Value* capture(const std::string& name);
  void require_single_makers() const;
  void add_nodes();
  /// False if an input does not exist yet.
  bool add_node(const NodeProto& node);
  Node* add_own_node(const NodeProto& proto, const std::vector<Value*>& inputs, Attributes attrs);
  void set_attribute(const AttributeProto& attribute, Attributes& attrs, std::vector<Value*>& inputs);
  [[noreturn]] void fail_stuck(const std::vector<bool>& done);
  void mark_outputs();
  /// The weights and constants of a file that lists its weights, in their order, also those that nothing reads.
  void define_listed_weights();
  /// What states take after each run.
  void add_assignments();

  const std::shared_ptr<const ModelFile>& model_;
  const WeightRoles& roles_;
  const GraphProto& proto_;
  GraphImporter* outer_;
  std::unique_ptr<Graph> graph_;
  std::unordered_map<std::string, Value*> values_;
  std::unordered_map<std::string, const TensorProto*> initializers_;
  std::vector<StoredWeight> weights_;
  std::vector<Value*> captures_;
};

void GraphImporter::require_single_makers() const {
  std::unordered_set<std::string> made;
  for (const TensorProto& tensor : proto_.initializer) {
    TW_REQUIRE(made.insert(tensor.name).second, "two initializers are named ", printable(tensor.name));
  }
  for (const ValueInfoProto& info : proto_.input) made.insert(info.name);
  for (const NodeProto& node : proto_.node) {
    for (const std::string& output : node.output) {
      TW_REQUIRE(output.empty() || made.insert(output).second, describe(node), ": something else makes ",
                 printable(output), " as well");
    }
  }
}

Value* GraphImporter::define_initializer(const TensorProto& tensor) {
  const bool is_state = outer_ == nullptr && roles_.is_state(tensor.name);
  if (outer_ != nullptr || (!is_state && !roles_.is_parameter(tensor))) {
    return graph_->constant(model_->tensor(tensor), roles_.form().has_value() ? tensor.name : "");
  }
  const TensorType type = model_->type(tensor);
  Value* weight = is_state ? graph_->held_state(tensor.name, type) : graph_->held_parameter(tensor.name, type);
  weight->set_trainable(!is_state && roles_.is_trained(tensor.name, type.dtype));
  weights_.push_back({tensor.name, type, [model = model_, &tensor] { return model->tensor_once(tensor); }});
  return weight;
}

Value* GraphImporter::capture(const std::string& name) {
  Value* value = outer_ != nullptr ? outer_->find(name) : nullptr;
  if (value == nullptr) return nullptr;
  if (value->kind() == Value::Kind::kConstant) return graph_->constant(value->data());
  if (value->kind() == Value::Kind::kParameter) return graph_->held_parameter(value->name(), value->type());
  captures_.push_back(value);
  return graph_->untyped_input(name);
}

Value* GraphImporter::find(const std::string& name) {
  const auto found = values_.find(name);
  if (found != values_.end()) return found->second;
  const auto initializer = initializers_.find(name);
  Value* value = initializer != initializers_.end() ? define_initializer(*initializer->second) : capture(name);
  if (value != nullptr) values_[name] = value;
  return value;
}

/// A graph in an attribute becomes one of ours; what it captures, further inputs of the node.
void GraphImporter::set_attribute(const AttributeProto& attribute, Attributes& attrs, std::vector<Value*>& inputs) {
  using Type = AttributeProto::Type;
  switch (attribute.type) {
    case Type::kFloat: attrs.set(attribute.name, static_cast<double>(attribute.f)); break;
    case Type::kInt: attrs.set(attribute.name, attribute.i); break;
    case Type::kString: attrs.set(attribute.name, attribute.s); break;
    case Type::kFloats:
      attrs.set(attribute.name, std::vector<double>(attribute.floats.begin(), attribute.floats.end()));
      break;
    case Type::kInts: attrs.set(attribute.name, attribute.ints); break;
    case Type::kStrings: attrs.set(attribute.name, attribute.strings); break;
    case Type::kTensor:
      if (attribute.t != nullptr) attrs.set(attribute.name, model_->tensor(*attribute.t));
      break;
    case Type::kGraph: {
      if (attribute.g == nullptr) break;
      GraphImporter inner(model_, roles_, *attribute.g, this);
      attrs.set(attribute.name, std::shared_ptr<Graph>(inner.run()));
      std::vector<int64_t> places;
      for (Value* value : inner.captures()) {
        places.push_back(static_cast<int64_t>(inputs.size()));
        inputs.push_back(value);
      }
      attrs.set(attribute.name + kCapturesOf, places);
      break;
    }
    default: break;  // no operator that we know reads the others
  }
}

bool GraphImporter::add_node(const NodeProto& proto) {
  std::vector<Value*> inputs;
  for (const std::string& name : proto.input) {
    inputs.push_back(name.empty() ? nullptr : find(name));
    if (!name.empty() && inputs.back() == nullptr) return false;
  }
  const size_t own_inputs = inputs.size();
  Attributes attrs{{ComposeContext::kOpsetAttribute, model_->opset(proto.domain)}};
  try {
    for (const AttributeProto& attribute : proto.attribute) {
      if (!only_graphs_have(attribute.name)) set_attribute(attribute, attrs, inputs);
    }
  } catch (const ContentNeeded&) {
    return false;  // a graph inside reads what does not exist yet
  }
  if (inputs.size() > own_inputs) attrs.set(kCaptures, static_cast<int64_t>(inputs.size() - own_inputs));
  const bool standard = normal_domain(proto.domain).empty();
  const bool learns = standard && outer_ == nullptr &&
                      (is_batch_norm(proto) ? roles_.learns(proto) : proto.op_type == "Dropout" && !weights_.empty());
  if (learns) attrs.set(kLearns, int64_t{1});
  Node* node = proto.domain == kOwnDomain ? add_own_node(proto, inputs, std::move(attrs))
                                          : graph_->add_untyped(op_name_of(proto.domain, proto.op_type), inputs,
                                                                std::move(attrs), proto.output.size(), proto.name);
  std::vector<Value*> outputs = node->outputs();
  // What needs no input is known at once.
  if (inputs.empty() && node->op().compose && !node->op().impure) {
    outputs = node->op().compose(ComposeContext(*graph_, *node, {}, nullptr));
  }
  for (size_t i = 0; i < proto.output.size(); ++i) {
    if (proto.output[i].empty()) continue;
    TW_REQUIRE(i < outputs.size(), describe(proto), ": its output ", i, " is not supported");
    if (outputs[i]->kind() == Value::Kind::kComputed) outputs[i]->set_name(proto.output[i]);
    values_[proto.output[i]] = outputs[i];
  }
  return true;
}

/// A node of one of our own ops.
Node* GraphImporter::add_own_node(const NodeProto& proto, const std::vector<Value*>& inputs, Attributes attrs) {
  attrs.erase(ComposeContext::kOpsetAttribute);
  const std::map<std::string, Attributes::Item> items = attrs.items();
  for (const auto& [name, item] : items) {
    if (!name.ends_with(kDoubleSuffix)) continue;
    const Tensor numbers = attrs.tensor(name).to(DType::kF64);
    const std::string own_name = name.substr(0, name.size() - std::string_view(kDoubleSuffix).size());
    const auto* first = numbers.data<double>();
    if (numbers.shape().rank() == 0) {
      attrs.set(own_name, *first);
    } else {
      attrs.set(own_name, std::vector<double>(first, first + numbers.num_elements()));
    }
    attrs.erase(name);
  }
  const bool typed =
      std::all_of(inputs.begin(), inputs.end(), [](const Value* value) { return value == nullptr || value->typed(); });
  if (typed) return graph_->add(proto.op_type, inputs, std::move(attrs), proto.name);
  return graph_->add_untyped(proto.op_type, inputs, std::move(attrs), proto.output.size(), proto.name);
}

/// ONNX asks for an order in which one pass suffices, but not all writers keep to it.
void GraphImporter::add_nodes() {
  std::vector<bool> done(proto_.node.size(), false);
  size_t left = done.size();
  for (bool progress = true; progress && left > 0;) {
    progress = false;
    for (size_t i = 0; i < done.size(); ++i) {
      if (done[i] || !add_node(proto_.node[i])) continue;
      done[i] = progress = true;
      --left;
    }
  }
  if (left == 0) return;
  // Somebody around this graph may make what is missing later on.
  if (outer_ != nullptr) throw ContentNeeded{};
  fail_stuck(done);
}

void GraphImporter::fail_stuck(const std::vector<bool>& done) {
  const size_t first = static_cast<size_t>(std::find(done.begin(), done.end(), false) - done.begin());
  const NodeProto& node = proto_.node[first];
  std::string missing;
  for (const std::string& name : node.input) {
    if (missing.empty() && !name.empty() && find(name) == nullptr) missing = " " + printable(name);
  }
  raise(model_->name, ": ", describe(node), " reads a value", missing,
        " that nothing makes, or that depends on its own result");
}

void GraphImporter::mark_outputs() {
  for (const ValueInfoProto& info : proto_.output) {
    Value* value = find(info.name);
    if (value == nullptr && outer_ != nullptr) throw ContentNeeded{};
    TW_REQUIRE(value != nullptr, model_->name, ": nothing makes the output ", printable(info.name));
    graph_->mark_output(value, value->kind() == Value::Kind::kComputed ? info.name : "");
    const auto type = declared_type(info);
    if (!value->typed() && type.has_value()) value->declare(*type);
  }
}

void GraphImporter::define_listed_weights() {
  if (!roles_.form().has_value()) return;
  for (const TensorProto& tensor : proto_.initializer) find(tensor.name);
}

void GraphImporter::add_assignments() {
  if (!roles_.form().has_value()) return;
  for (const auto& [state, value] : roles_.form()->assignments) {
    Value* target = find(state);
    Value* source = find(value);
    TW_REQUIRE(target != nullptr && source != nullptr, model_->name, ": nothing makes ", printable(value), " or ",
               printable(state), ", of which the one is to take the other");
    graph_->assign(target, source);
  }
}

std::unique_ptr<Graph> GraphImporter::run() {
  require_single_makers();
  for (const TensorProto& tensor : proto_.initializer) initializers_.emplace(tensor.name, &tensor);
  for (const ValueInfoProto& info : proto_.input) {
    if (initializers_.count(info.name) > 0) continue;
    const auto type = declared_type(info);
    values_[info.name] = type.has_value() ? graph_->input(info.name, *type) : graph_->untyped_input(info.name);
  }
  if (outer_ == nullptr) define_listed_weights();
  add_nodes();
  mark_outputs();
  if (outer_ == nullptr) add_assignments();
  graph_->remove_dead_nodes();
  return std::move(graph_);
}

void collect_unknown(const GraphProto& graph, std::vector<std::string>& lines) {
  for (const NodeProto& node : graph.node) {
    const bool own = node.domain == kOwnDomain;
    if (look_up_op(own ? node.op_type : op_name_of(node.domain, node.op_type)) == nullptr) {
      lines.push_back(describe(node) + ": there is no such operator here");
    }
    for (const AttributeProto& attribute : node.attribute) {
      if (attribute.g != nullptr) collect_unknown(*attribute.g, lines);
    }
  }
}

}  // namespace

ImportedModel import_model(const std::shared_ptr<const ModelFile>& model,
                           std::optional<BatchNormTraining> batch_norms) {
  std::vector<std::string> unknown;
  collect_unknown(model->proto.graph, unknown);
  TW_REQUIRE(unknown.empty(), model->name, ": ", unknown.size(), unknown.size() == 1 ? " node is" : " nodes are",
             " not supported:\n  ", join(unknown, "\n  "));
  const WeightRoles roles(*model, batch_norms);
  GraphImporter importer(model, roles, model->proto.graph, nullptr);
  ImportedModel result;
  result.name = model->name;
  // A graph of our own ops was built here, whichever way it came.
  const auto is_own = [](const OperatorSetId& id) { return id.domain == kOwnDomain; };
  const auto& sets = model->proto.opset_import;
  result.opset = std::any_of(sets.begin(), sets.end(), is_own) ? 0 : model->opset("");
  result.graph = importer.run();
  result.weights = importer.take_weights();
  result.producer = model->proto.producer_name;
  if (!model->proto.producer_version.empty()) result.producer += " " + model->proto.producer_version;
  for (const auto& [key, value] : model->proto.metadata_props) result.metadata[key] = value;
  result.metadata.erase(TrainingForm::kProperty);
  for (const auto* infos : {&model->proto.graph.input, &model->proto.graph.output}) {
    for (const ValueInfoProto& info : *infos) {
      std::vector<std::string>& names = result.dimension_names[info.name];
      names.clear();
      for (const Dimension& dimension : info.type.shape) names.push_back(dimension.param);
    }
  }
  return result;
}

}  // namespace thalweg::onnx
