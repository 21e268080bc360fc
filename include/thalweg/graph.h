// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "thalweg/tensor.h"

namespace thalweg {

class Graph;
class Node;
struct AttributeDef;
struct OpDef;

/// Named, typed arguments of a node. A missing attribute takes the default that the node's op declares, else that which
/// the reader gives; one of another kind is an error that names it.
class Attributes {
 public:
  using Item = std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                            std::vector<std::string>, Tensor, std::shared_ptr<Graph>>;

  Attributes() = default;
  Attributes(std::initializer_list<std::pair<const std::string, Item>> items) : items_(items) {}

  bool has(const std::string& name) const { return items_.count(name) > 0; }
  void set(const std::string& name, Item value) { items_[name] = std::move(value); }
  void erase(const std::string& name) { items_.erase(name); }

  int64_t integer(const std::string& name, int64_t fallback = 0) const;
  bool flag(const std::string& name, bool fallback = false) const { return integer(name, fallback ? 1 : 0) != 0; }
  /// Accepts an integer item as well.
  double real(const std::string& name, double fallback = 0.0) const;
  std::string text(const std::string& name, const std::string& fallback = "") const;
  std::vector<int64_t> integers(const std::string& name, const std::vector<int64_t>& fallback = {}) const;
  std::vector<double> reals(const std::string& name, const std::vector<double>& fallback = {}) const;
  std::vector<std::string> texts(const std::string& name, const std::vector<std::string>& fallback = {}) const;
  /// Undefined tensor if missing.
  Tensor tensor(const std::string& name) const;
  std::shared_ptr<Graph> graph(const std::string& name) const;

  const std::map<std::string, Item>& items() const { return items_; }
  std::string to_string() const;

 private:
  friend class Graph;
  const Item* find_item(const std::string& name) const;
  template <typename T>
  const T* find(const std::string& name) const;
  std::map<std::string, Item> items_;
  /// Those of the op, which live as long as the process; null until a graph takes the attributes for a node.
  const std::vector<AttributeDef>* declared_ = nullptr;
};

/// Thrown when the type of a value is asked for that is known only once the graph has been specialised.
class TypeUnknown : public Error {
 public:
  using Error::Error;
};

/// One typed edge of a graph. Values belong to their graph and are referred to by pointer, which stays valid as long
/// as the graph lives and the value has not been removed by a pass. Bindings may share one, so that its place is not
/// given to another value while an object of their language stands for it; it is of no use without its graph.
class Value : public std::enable_shared_from_this<Value> {
 public:
  enum class Kind {
    kInput,      ///< given at each run
    kParameter,  ///< weights: trained unless frozen
    kState,      ///< kept between runs, changed by Graph::assign only (running statistics)
    kConstant,
    kComputed
  };

  Kind kind() const { return kind_; }
  const std::string& name() const { return name_; }
  /// Throws TypeUnknown unless `typed`.
  const TensorType& type() const {
    if (!typed_) [[unlikely]]
      raise_untyped();
    return type_;
  }
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  /// False for a value whose element type and number of dimensions follow only from the shapes, or even the content,
  /// of what the graph is given.
  bool typed() const { return typed_; }
  /// Says what is known of a value that has no type, or a type with more free dimensions.
  void declare(TensorType type) {
    type_ = std::move(type);
    typed_ = true;
  }
  int id() const { return id_; }
  Graph& graph() const { return *graph_; }
  /// Null unless computed.
  Node* producer() const { return producer_; }
  int output_index() const { return output_index_; }
  /// A constant's content, or the initial content of a parameter or state (undefined if none was given).
  const Tensor& data() const { return data_; }
  void set_data(Tensor data);
  /// Gives the data away: from then on a Variables object holds the content of this parameter or state.
  Tensor take_data() { return std::move(data_); }
  bool trainable() const { return trainable_; }
  void set_trainable(bool trainable) { trainable_ = trainable; }
  void set_name(std::string name) { name_ = std::move(name); }

 private:
  friend class Graph;
  [[noreturn]] void raise_untyped() const;
  Kind kind_ = Kind::kComputed;
  std::string name_;
  TensorType type_;
  bool typed_ = true;
  int id_ = 0;
  Graph* graph_ = nullptr;
  Node* producer_ = nullptr;
  int output_index_ = 0;
  Tensor data_;
  bool trainable_ = false;
};

/// One operation. Inputs that an op allows to be absent are null.
class Node {
 public:
  const OpDef& op() const { return *op_; }
  const std::string& op_name() const;
  const std::string& name() const { return name_; }
  int id() const { return id_; }
  const std::vector<Value*>& inputs() const { return inputs_; }
  Value* input(size_t index) const { return index < inputs_.size() ? inputs_[index] : nullptr; }
  const std::vector<Value*>& outputs() const { return outputs_; }
  Value* output(size_t index = 0) const { return outputs_[index]; }
  const Attributes& attrs() const { return attrs_; }
  Graph& graph() const { return *graph_; }

 private:
  friend class Graph;
  const OpDef* op_ = nullptr;
  std::string name_;
  int id_ = 0;
  std::vector<Value*> inputs_;
  std::vector<Value*> outputs_;
  Attributes attrs_;
  Graph* graph_ = nullptr;
};

/// The gradient of a loss with respect to a parameter: either dense, or rows of an embedding table (`rows[i]` adds to
/// table row `indices[i]`; indices may repeat).
struct Gradient {
  Value* parameter = nullptr;
  Value* dense = nullptr;
  Value* indices = nullptr;
  Value* rows = nullptr;
  bool is_sparse() const { return rows != nullptr; }
};

/// A model as data: nodes in an order in which each follows its producers. Building checks every shape and element
/// type at once, with free dimensions taken on trust until the graph is specialised.
class Graph {
 public:
  explicit Graph(std::string name = "model") : name_(std::move(name)) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  const std::string& name() const { return name_; }

  Value* input(const std::string& name, TensorType type);
  /// An input that takes values of any type.
  Value* untyped_input(const std::string& name);
  /// `data` must be static and defined; the parameter takes its type. Names are unique within a graph.
  Value* parameter(const std::string& name, Tensor data, bool trainable = true);
  /// A parameter whose content a Variables object holds under the same name; it is not trained.
  Value* held_parameter(const std::string& name, TensorType type);
  Value* state(const std::string& name, Tensor data);
  /// A state whose content a Variables object holds under the same name.
  Value* held_state(const std::string& name, TensorType type);
  Value* constant(Tensor data, const std::string& name = "");

  /// Appends a node, infers its output types and returns it. Throws Error naming op, node and shapes if they do not
  /// fit.
  Node* add(const std::string& op, std::vector<Value*> inputs, Attributes attrs = {}, const std::string& name = "");

  /// Appends a node whose output types are found when the graph is specialised: its op has no shape rule, or the types
  /// of its inputs are not known yet.
  Node* add_untyped(const std::string& op, std::vector<Value*> inputs, Attributes attrs, size_t num_outputs,
                    const std::string& name = "");

  void mark_output(Value* value, const std::string& name = "");
  /// After each run of the graph `state` takes the content of `value` (same type).
  void assign(Value* state, Value* value);

  const std::vector<Value*>& inputs() const { return inputs_; }
  const std::vector<Value*>& outputs() const { return outputs_; }
  /// In order of creation, trainable or not.
  const std::vector<Value*>& parameters() const { return parameters_; }
  const std::vector<Value*>& states() const { return states_; }
  const std::vector<Value*>& constants() const { return constants_; }
  const std::vector<std::pair<Value*, Value*>>& assignments() const { return assignments_; }
  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  std::vector<Gradient>& gradients() { return gradients_; }
  const std::vector<Gradient>& gradients() const { return gradients_; }

  /// Null if there is none of that name.
  Value* find(const std::string& name) const;
  /// Nodes that read `value`, in order; a node that reads it twice appears once.
  std::vector<Node*> consumers(const Value* value) const;
  bool is_output(const Value* value) const;

  // For passes.
  /// Makes every reader of `from` (nodes, outputs, assignments, gradients) read `to`; their types must be equal if both
  /// are known.
  void replace(Value* from, Value* to);
  /// As replace, for the list of outputs only; the types may differ.
  void replace_output(Value* from, Value* to);
  void set_inputs(Node* node, std::vector<Value*> inputs);
  void set_attribute(Node* node, const std::string& name, Attributes::Item value);
  void erase_attribute(Node* node, const std::string& name);
  /// Infers the output types of a node anew after its inputs or attributes changed. Nodes that read them must follow.
  void infer_again(Node* node);
  /// Restores an order in which every node follows its producers, keeping the present order wherever it can.
  void sort_nodes();
  /// Forgets all assignments (a model that only infers keeps its states as they are).
  void clear_assignments() { assignments_.clear(); }
  /// Removes nodes from which no output, assignment or gradient can be reached; returns how many.
  int remove_dead_nodes();
  /// Moves the nodes added since there were `first` to before node `anchor`. Keeps their own order.
  void move_tail_before(size_t first, const Node* anchor);

  /// Throws an input error unless input `index` takes a value of this type, which has no free dimension.
  void require_fits(size_t index, const TensorType& given) const;
  /// A copy without nodes and outputs whose inputs have the given types. `mapping` receives old value -> new value.
  /// Throws an input error if a type does not fit the input, or has a free dimension.
  std::unique_ptr<Graph> copy_values(const std::vector<TensorType>& input_types,
                                     std::unordered_map<const Value*, Value*>& mapping) const;
  /// A deep copy. `mapping` (optional) receives old value -> new value.
  std::unique_ptr<Graph> clone(std::unordered_map<const Value*, Value*>* mapping = nullptr) const;

  /// Throws Error at the first broken invariant: order, ownership, types, duplicate names.
  void verify() const;
  /// One line a node; stable, for tests and people.
  std::string to_string() const;

 private:
  Value* new_value(Value::Kind kind, const std::string& name, TensorType type);
  Value* new_untyped(Value::Kind kind, const std::string& name);
  Node* append(const OpDef& op, std::vector<Value*> inputs, Attributes attrs, const std::string& name);
  void add_output(Node* node, Value* output) const;
  void copy_held(Graph& target, std::unordered_map<const Value*, Value*>& mapping) const;

  std::string name_;
  std::vector<std::shared_ptr<Value>> values_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<Value*> inputs_, outputs_, parameters_, states_, constants_;
  std::vector<std::pair<Value*, Value*>> assignments_;
  std::vector<Gradient> gradients_;
  std::unordered_map<std::string, Value*> by_name_;
  int next_value_id_ = 0;
  int next_node_id_ = 0;
};

/// How messages name a node: op 'name'.
std::string describe(const Node& node);

}  // namespace thalweg
