// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "data/features/columns.h"
#include "data/features/kinds.h"

namespace thalweg::data {
namespace {

/// By a curve that is the same on both sides of 0.
template <typename Curve>
void bend(std::vector<Column>& columns, const std::string& name, Curve curve) {
  Column& column = find_column(columns, name);
  Numbers values = numbers_of(column);
  for (double& value : values) value = std::copysign(curve(std::abs(value)), value);
  column.values = std::move(values);
}

}  // namespace

void apply(const Log& f, std::vector<Column>& columns) {
  bend(columns, f.column, [](double value) { return std::log1p(value); });
}

void apply(const Power& f, std::vector<Column>& columns) {
  bend(columns, f.column, [&](double value) { return std::pow(value, f.exponent); });
}

const char* complaint_of(const Power& f) {
  return std::isfinite(f.exponent) && f.exponent > 0 ? nullptr : "exponent must be a positive number";
}

}  // namespace thalweg::data
