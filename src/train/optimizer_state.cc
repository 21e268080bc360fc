// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "train/optimizer_state.h"

#include <cstring>
#include <map>
#include <set>
#include <sstream>

namespace thalweg {
namespace {

constexpr const char* kUpdates = "updates/";

std::string slot_name(const optim::Slot& slot, const std::string& parameter) { return slot.name + "/" + parameter; }

Layout slot_layout(const Variables& variables, const std::string& parameter) {
  return variables.layout(variables.index(parameter));
}

TensorType slot_type(const Variables& variables, const optim::Slot& slot, const std::string& parameter) {
  if (!slot.same_layout_as_parameter) return {DType::kF32, {static_cast<int64_t>(slot.values.size())}};
  return slot_layout(variables, parameter).type();
}

Tensor read_slot(const Variables& variables, const optim::Slot& slot, const std::string& parameter) {
  Tensor plain(slot_type(variables, slot, parameter));
  if (slot.same_layout_as_parameter) {
    reorder(slot_layout(variables, parameter), slot.values.data(), Layout(plain.type()), plain.raw());
  } else {
    std::memcpy(plain.raw(), slot.values.data(), plain.num_bytes());
  }
  return plain;
}

void write_slot(const Variables& variables, const optim::Slot& slot, const std::string& parameter,
                const Tensor& plain) {
  if (!slot.same_layout_as_parameter || slot_layout(variables, parameter).is_plain()) {
    std::memcpy(slot.values.data(), plain.raw(), plain.num_bytes());
    return;
  }
  const Layout layout = slot_layout(variables, parameter);
  const Tensor ones = Tensor::full<float>(plain.shape(), 1.0F);
  AlignedBuffer values(layout.bytes()), is_element(layout.bytes());
  reorder(Layout(plain.type()), plain.raw(), layout, values.data());
  reorder(Layout(plain.type()), ones.raw(), layout, is_element.data());
  // Padding keeps what the optimiser put there at first, which need not be zero.
  for (size_t i = 0; i < slot.values.size(); ++i) {
    if (static_cast<const float*>(is_element.data())[i] != 0) {
      slot.values[i] = static_cast<const float*>(values.data())[i];
    }
  }
}

using Tensors = std::map<std::string, Tensor>;

void check(const Tensors& state, const std::string& name, const TensorType& type, std::ostream& faults) {
  const auto found = state.find(name);
  if (found == state.end()) {
    faults << "\n  missing '" << name << "'";
  } else if (found->second.type() != type) {
    faults << "\n  '" << name << "' is " << found->second.type() << ", not " << type;
  }
}

}  // namespace

std::vector<NamedTensor> read_optimizer(optim::Optimizer& optimizer, const Variables& variables) {
  std::vector<NamedTensor> result;
  for (size_t p = 0; p < optimizer.num_parameters(); ++p) {
    const std::string& parameter = optimizer.parameter_name(p);
    result.push_back({kUpdates + parameter, Tensor::scalar<int64_t>(optimizer.updates(p))});
    for (const optim::Slot& slot : optimizer.slots(p)) {
      result.push_back({slot_name(slot, parameter), read_slot(variables, slot, parameter)});
    }
  }
  return result;
}

void write_optimizer(optim::Optimizer& optimizer, const Variables& variables, const std::vector<NamedTensor>& state,
                     const std::string& source) {
  Tensors given;
  for (const NamedTensor& entry : state) given[entry.name] = entry.tensor;
  std::ostringstream faults;
  std::set<std::string> expected;
  for (size_t p = 0; p < optimizer.num_parameters(); ++p) {
    const std::string& parameter = optimizer.parameter_name(p);
    check(given, kUpdates + parameter, {DType::kI64, {}}, faults);
    expected.insert(kUpdates + parameter);
    for (const optim::Slot& slot : optimizer.slots(p)) {
      check(given, slot_name(slot, parameter), slot_type(variables, slot, parameter), faults);
      expected.insert(slot_name(slot, parameter));
    }
  }
  for (const auto& [name, tensor] : given) {
    if (expected.count(name) == 0) faults << "\n  unexpected '" << name << "'";
  }
  TW_REQUIRE(faults.str().empty(), source, ": is not the state of this optimizer (", optimizer.name(),
             "):", faults.str());
  for (size_t p = 0; p < optimizer.num_parameters(); ++p) {
    const std::string& parameter = optimizer.parameter_name(p);
    optimizer.set_updates(p, static_cast<int64_t>(given.at(kUpdates + parameter).item()));
    for (const optim::Slot& slot : optimizer.slots(p)) {
      write_slot(variables, slot, parameter, given.at(slot_name(slot, parameter)));
    }
  }
}

void write_optimizer(optim::Optimizer& optimizer, const Variables& variables, const SafetensorsFile& file) {
  std::vector<NamedTensor> state;
  for (const std::string& name : file.names()) state.push_back({name, file.load(name)});
  write_optimizer(optimizer, variables, state, file.path());
}

}  // namespace thalweg
