// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "columns.h"

#include <algorithm>
#include <limits>

namespace thalweg::python {
namespace {

data::Column column_from(const std::string& name, nb::handle values) {
  if (PyTuple_Check(values.ptr()) != 0) {
    const auto [known, missing] = nb::cast<std::pair<nb::object, std::vector<bool>>>(values);
    data::Column column = column_from(name, known);
    column.missing = missing;
    return column;
  }
  if (PyList_Check(values.ptr()) != 0) return {name, nb::cast<std::vector<std::string>>(values)};
  const Tensor given = to_tensor(values);
  if (given.shape().rank() != 1) raise_input_error("column '", name, "' has ", given.shape().rank(), " dimensions");
  const auto fill = [&](const Tensor& numbers, auto zero) {
    const auto* data = numbers.data<decltype(zero)>();
    return std::vector<decltype(zero)>(data, data + numbers.num_elements());
  };
  if (is_floating(given.dtype())) return {name, fill(given.to(DType::kF64), 0.0)};
  return {name, fill(given.to(DType::kI64), int64_t{0})};
}

nb::object values_of(const std::vector<std::string>& texts) { return nb::cast(texts); }
template <typename T>
nb::object values_of(const std::vector<T>& numbers) {
  return to_numpy(Tensor::from<T>({static_cast<int64_t>(numbers.size())}, numbers));
}

/// Of a column that lacks some: None in a list, or NaN among fractions.
nb::object values_with_gaps(const std::vector<double>& numbers, const std::vector<bool>& missing) {
  std::vector<double> result = numbers;
  for (size_t row = 0; row < result.size(); ++row) {
    if (missing[row]) result[row] = std::numeric_limits<double>::quiet_NaN();
  }
  return values_of(result);
}
template <typename T>
nb::object values_with_gaps(const std::vector<T>& values, const std::vector<bool>& missing) {
  nb::list result;
  for (size_t row = 0; row < values.size(); ++row) result.append(missing[row] ? nb::none() : nb::cast(values[row]));
  return result;
}

}  // namespace

std::vector<data::Column> columns_from(nb::handle table, const std::vector<std::string>& names,
                                       const std::vector<std::string>& imputed) {
  std::vector<data::Column> columns;
  const nb::object given = nb::module_::import_("thalweg._columns").attr("columns_of")(table, names, imputed);
  for (const auto& [name, values] : nb::cast<nb::dict>(given)) {
    columns.push_back(column_from(nb::cast<std::string>(name), values));
  }
  return columns;
}

nb::dict columns_to_dict(const std::vector<data::Column>& columns) {
  nb::dict result;
  for (const data::Column& column : columns) {
    const bool lacks = std::find(column.missing.begin(), column.missing.end(), true) != column.missing.end();
    const auto converted = [&](const auto& values) {
      return lacks ? values_with_gaps(values, column.missing) : values_of(values);
    };
    result[column.name.c_str()] = std::visit(converted, column.values);
  }
  return result;
}

}  // namespace thalweg::python
