// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "formats/caffe/fields.h"
#include "formats/caffe/net.h"
#include "formats/caffe/weights_file.h"
#include "thalweg/caffe.h"
#include "thalweg/nn/init.h"

namespace thalweg::caffe {

/// What the layers of one network share while it becomes a graph.
struct NetContext {
  const Net& net;
  /// Null: weights start as the fillers say.
  const WeightsFile* weights;
  const LoadOptions& options;
  Graph& graph;
  /// Weights that several layers have, by the name that their `param` gives them.
  std::map<std::string, Value*> shared = {};
  /// Layers for which the file has no weights.
  std::vector<std::string> missing = {};
};

/// What the converter of one layer sees.
class LayerContext {
 public:
  /// `sole_reader`: for each bottom, whether no other layer reads it.
  LayerContext(NetContext& net, const Layer& layer, std::vector<Value*> bottoms, std::vector<bool> sole_reader)
      : net_(net), layer_(layer), bottoms_(std::move(bottoms)), sole_reader_(std::move(sole_reader)) {}

  Graph& graph() const { return net_.graph; }
  const std::string& name() const { return layer_.name; }
  const std::string& type() const { return layer_.type; }
  const LoadOptions& options() const { return net_.options; }
  const std::vector<Value*>& bottoms() const { return bottoms_; }
  /// Throws if the layer has fewer.
  Value* bottom(size_t index = 0) const;
  bool reads_alone(size_t index) const { return sole_reader_[index]; }
  size_t num_tops() const { return layer_.tops.size(); }
  const std::string& top(size_t index) const { return layer_.tops[index]; }
  /// Throws unless there are so many bottoms and tops; -1: any number but none.
  void require_counts(int bottoms, int tops = 1) const;

  /// The message with the parameters of this kind of layer.
  const Fields& fields(const std::string& message) const;
  /// `axis` (or the field of that name), counted from the end if negative.
  int axis(const Fields& fields, const std::string& field, int64_t fallback, int rank) const;

  /// The shape of weight `index` in the file; nothing if there is none.
  std::optional<Shape> stored_shape(size_t index) const;
  /// A parameter "<layer>.<called>", from the file, or else as `start` says. The shape must be static.
  Value* weight(size_t index, const std::string& called, const Shape& shape, const nn::init::Initializer& start);
  /// The same without a parameter: what its content would be.
  Tensor content(size_t index, const std::string& called, const Shape& shape, const nn::init::Initializer& start);
  /// What a filler says, as "gaussian" with its numbers. `fallback`: the value of all if there is none.
  static nn::init::Initializer filler(const Fields& fields, const std::string& field, double fallback = 0.0);

  /// Throws unless the fields that the layer has, and its weights in the file, were all asked for.
  void finish() const;
  template <typename... Parts>
  void require(bool condition, const Parts&... parts) const {
    if (!condition) [[unlikely]]
      raise(net_.net.where(layer_), ": ", parts...);
  }

 private:
  Tensor stored(size_t index, const std::string& called, const Shape& shape) const;
  /// The settings of weight `index`: its name if other layers share it, and how fast it is trained.
  const Fields* settings(size_t index) const;

  NetContext& net_;
  const Layer& layer_;
  std::vector<Value*> bottoms_;
  std::vector<bool> sole_reader_;
  mutable std::list<Fields> fields_;
  size_t weights_asked_ = 0;
};

/// Adds nodes for one layer and gives its tops.
using Converter = std::function<std::vector<Value*>(LayerContext&)>;

/// Registers at start-up: `const RegisterLayers kLayers({{"ReLU", convert_relu}, ...});`
struct RegisterLayers {
  RegisterLayers(std::initializer_list<std::pair<const char*, Converter>> layers);
};

/// Null if layers of this type are not supported.
const Converter* find_converter(const std::string& type);
std::vector<std::string> supported_types();

/// A weight of consecutive dimensions of `like`, from `axis` on, in a shape that broadcasts to it.
Value* along_axis(Value* weight, int axis, const Value* like);
/// The extents of dimensions `first` to the last; throws if one is not known.
std::vector<int64_t> known_extents(const LayerContext& context, const Value* value, int first);

}  // namespace thalweg::caffe
