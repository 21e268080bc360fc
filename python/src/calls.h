// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "casters.h"

/// How models are called from Python: model(a, b), model({"x": a, "y": b}) or model(x=a, y=b). Answers come back as
/// they were asked for: one array or a tuple in the model's order, or a dict by name for a dict.
namespace thalweg::python {

/// Puts named arrays into the order of `values`, whose elements have names; `name_of(i)` gives them.
template <typename NameOf>
std::vector<Tensor> tensors_by_name(nb::handle named, size_t count, const NameOf& name_of_input) {
  std::vector<Tensor> tensors(count);
  size_t found = 0;
  for (const auto& [key, array] : nb::borrow<nb::dict>(named)) {
    const std::string name = nb::cast<std::string>(nb::str(key));
    size_t i = 0;
    while (i < count && name_of_input(i) != name) ++i;
    std::string known;
    for (size_t k = 0; k < count && i == count; ++k) known += (k > 0 ? ", " : "") + std::string(name_of_input(k));
    if (i == count) throw InputError("the model has no input '" + name + "'; it has: " + known);
    tensors[i] = to_tensor(array);
    ++found;
  }
  for (size_t i = 0; i < count && found < count; ++i) {
    if (!tensors[i].defined()) throw InputError("input '" + std::string(name_of_input(i)) + "' is missing");
  }
  return tensors;
}

/// The arguments of a call as the model's inputs; `as_dict` is set if they came in a dict.
template <typename NameOf>
std::vector<Tensor> call_inputs(const nb::args& args, const nb::kwargs& named, size_t count,
                                const NameOf& name_of_input, bool& as_dict) {
  as_dict = args.size() == 1 && PyDict_Check(args[0].ptr());
  if (as_dict) return tensors_by_name(args[0], count, name_of_input);
  if (named.size() > 0) {
    if (args.size() > 0) throw nb::type_error("inputs come either in order or by name, not both");
    return tensors_by_name(named, count, name_of_input);
  }
  std::vector<Tensor> tensors;
  tensors.reserve(args.size());
  for (const nb::handle array : args) tensors.push_back(to_tensor(array));
  return tensors;
}

/// What `run` gives for the inputs. If it refuses arrays of another element type than `dtype_of(i)`, which are not
/// converted behind anybody's back, the error says what to do.
template <typename DTypeOf, typename Run>
std::vector<Tensor> call_advised(const std::vector<Tensor>& inputs, size_t count, const DTypeOf& dtype_of,
                                 const Run& run) {
  try {
    return run();
  } catch (const InputError& error) {
    for (size_t i = 0; i < std::min(inputs.size(), count); ++i) {
      const std::optional<DType> wanted = dtype_of(i);
      if (!wanted || *wanted == inputs[i].dtype()) continue;
      raise_input_error(error.what(), ": convert it with .astype(\"", numpy_name(*wanted), "\")");
    }
    throw;
  }
}

template <typename NameOf>
nb::object call_result(const std::vector<Tensor>& outputs, const NameOf& name_of_output, bool as_dict) {
  if (as_dict) {
    nb::dict result;
    for (size_t i = 0; i < outputs.size(); ++i) result[name_of_output(i).c_str()] = to_numpy(outputs[i]);
    return result;
  }
  if (outputs.size() == 1) return to_numpy(outputs[0]);
  nb::list result;
  for (const Tensor& output : outputs) result.append(to_numpy(output));
  return nb::tuple(result);
}

}  // namespace thalweg::python
