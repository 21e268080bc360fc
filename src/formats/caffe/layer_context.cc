// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/caffe/layer_context.h"

#include <algorithm>

#include "base/text.h"
#include "thalweg/ops/shape.h"

namespace thalweg::caffe {
namespace {

std::map<std::string, Converter>& registry() {
  static std::map<std::string, Converter> converters;
  return converters;
}

/// Older files pad shapes to four dimensions with ones at the front.
std::vector<int64_t> without_leading_ones(const Shape& shape) {
  const auto first = std::find_if(shape.begin(), shape.end(), [](int64_t dim) { return dim != 1; });
  return {first, shape.end()};
}

}  // namespace

RegisterLayers::RegisterLayers(std::initializer_list<std::pair<const char*, Converter>> layers) {
  for (const auto& [type, converter] : layers) {
    TW_REQUIRE(registry().emplace(type, converter).second, "two converters for Caffe's ", type);
  }
}

const Converter* find_converter(const std::string& type) {
  const auto found = registry().find(type);
  return found == registry().end() ? nullptr : &found->second;
}

std::vector<std::string> supported_types() {
  std::vector<std::string> types;
  for (const auto& [type, converter] : registry()) types.push_back(type);
  return types;
}

Value* LayerContext::bottom(size_t index) const {
  require(index < bottoms_.size(), "has ", bottoms_.size(), " bottoms, and needs ", index + 1);
  return bottoms_[index];
}

void LayerContext::require_counts(int bottoms, int tops) const {
  const auto fits = [](size_t have, int want) { return want < 0 ? have > 0 : have == static_cast<size_t>(want); };
  const auto wanted = [](int count) { return count < 0 ? std::string("at least one") : std::to_string(count); };
  require(fits(bottoms_.size(), bottoms), "has ", bottoms_.size(), " bottoms, and takes ", wanted(bottoms));
  require(fits(num_tops(), tops), "has ", num_tops(), " tops, and gives ", wanted(tops));
}

const Fields& LayerContext::fields(const std::string& message) const {
  const Field* field = layer_.message->find(message);
  require(field == nullptr || field->message != nullptr, message, " must be a message in braces");
  // Engines are libraries of Caffe's.
  const Fields& reader =
      fields_.emplace_back(field == nullptr ? nullptr : field->message.get(), net_.net.where(layer_), message);
  reader.ignore({"engine"});
  return reader;
}

int LayerContext::axis(const Fields& fields, const std::string& field, int64_t fallback, int rank) const {
  const int64_t axis = fields.integer(field, fallback, -Fields::kMost);
  require(axis >= -rank && axis < rank, field, " is ", axis, ", but there are ", rank, " dimensions");
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::optional<Shape> LayerContext::stored_shape(size_t index) const {
  if (net_.weights == nullptr || index >= net_.weights->count(name())) return std::nullopt;
  return net_.weights->read(name(), index).shape();
}

const Fields* LayerContext::settings(size_t index) const {
  const std::vector<const Field*> all = layer_.message->all("param");
  if (index >= all.size()) return nullptr;
  require(all[index]->message != nullptr, "param must be a message in braces");
  const Fields& fields = fields_.emplace_back(all[index]->message.get(), net_.net.where(layer_), "param");
  fields.ignore({"decay_mult", "share_mode"});
  return &fields;
}

Tensor LayerContext::stored(size_t index, const std::string& called, const Shape& shape) const {
  const WeightsFile& file = *net_.weights;
  require(index < file.count(name()), file.name(), " has ", file.count(name()), " weights for it, and none for its ",
          called);
  const Tensor tensor = file.read(name(), index);
  const bool fits = tensor.num_elements() == shape.num_elements() &&
                    without_leading_ones(tensor.shape()) == without_leading_ones(shape);
  require(fits, "its ", called, " is ", shape, ", but in ", file.name(), " it is ", tensor.shape());
  return tensor.reshaped(shape);
}

Tensor LayerContext::content(size_t index, const std::string& called, const Shape& shape,
                             const nn::init::Initializer& start) {
  require(shape.is_static(), "the size of its ", called, " depends on an input whose size is not known");
  weights_asked_ = std::max(weights_asked_, index + 1);
  if (net_.weights != nullptr && net_.weights->count(name()) > 0) return stored(index, called, shape);
  if (net_.weights != nullptr && (net_.missing.empty() || net_.missing.back() != name())) {
    net_.missing.push_back(name());
  }
  return start(shape, nn::init::key_of(net_.options.seed, name() + "." + called));
}

Value* LayerContext::weight(size_t index, const std::string& called, const Shape& shape,
                            const nn::init::Initializer& start) {
  const Fields* param = settings(index);
  const std::string shared_name = param == nullptr ? "" : param->text("name");
  const double rate = param == nullptr ? 1.0 : param->real("lr_mult", 1.0);
  if (const auto known = net_.shared.find(shared_name); !shared_name.empty() && known != net_.shared.end()) {
    require(known->second->shape() == shape, "its ", called, " is ", shape, ", but the weight ", printable(shared_name),
            " that it shares is ", known->second->shape());
    weights_asked_ = std::max(weights_asked_, index + 1);
    return known->second;
  }
  Value* parameter = graph().parameter(name() + "." + called, content(index, called, shape, start), rate != 0);
  if (!shared_name.empty()) net_.shared[shared_name] = parameter;
  return parameter;
}

void LayerContext::finish() const {
  for (const Fields& fields : fields_) fields.require_all_asked();
  if (net_.weights == nullptr) return;
  const size_t stored = net_.weights->count(name());
  require(stored == 0 || stored == weights_asked_, "takes ", weights_asked_, " weights, but ", net_.weights->name(),
          " has ", stored, " for it");
}

Value* along_axis(Value* weight, int axis, const Value* like) {
  std::vector<int64_t> dims = weight->shape().dims();
  const int after = like->shape().rank() - axis - weight->shape().rank();
  if (after <= 0) return weight;
  dims.resize(dims.size() + static_cast<size_t>(after), 1);
  return ops::reshape(weight, dims);
}

std::vector<int64_t> known_extents(const LayerContext& context, const Value* value, int first) {
  std::vector<int64_t> extents;
  for (int d = first; d < value->shape().rank(); ++d) {
    context.require(value->shape()[d] != kFree, "needs to know the sizes of what it reads, which are ", value->shape());
    extents.push_back(value->shape()[d]);
  }
  return extents;
}

}  // namespace thalweg::caffe
