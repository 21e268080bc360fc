// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/arrow/scan.h"

#include <arrow/compute/expression.h>

#include <algorithm>

#include "base/text.h"
#include "data/arrow/block.h"
#include "data/arrow/result.h"

namespace thalweg::data {
namespace {

namespace cp = arrow::compute;
namespace ds = arrow::dataset;

cp::Expression expression_of(const Condition& condition) {
  const cp::Expression value = std::visit([](const auto& v) { return cp::literal(v); }, condition.value);
  const cp::Expression column = cp::field_ref(condition.column);
  switch (condition.kind) {
    case Condition::Kind::kEqual: return cp::equal(column, value);
    case Condition::Kind::kNotEqual: return cp::not_equal(column, value);
    case Condition::Kind::kLess: return cp::less(column, value);
    case Condition::Kind::kLessEqual: return cp::less_equal(column, value);
    case Condition::Kind::kGreater: return cp::greater(column, value);
    case Condition::Kind::kGreaterEqual: return cp::greater_equal(column, value);
  }
  return cp::literal(true);
}

}  // namespace

void check_columns(const TableFiles& files, const ScanRequest& request) {
  const std::vector<std::string> known = files.dataset->schema()->field_names();
  const auto check = [&](const std::string& name) {
    TW_REQUIRE(std::find(known.begin(), known.end(), name) != known.end(), files.uri, ": there is no column '", name,
               "'; near: ", nearest_names(name, known));
  };
  for (const std::string& name : request.columns) check(name);
  for (const Condition& condition : request.filter) check(condition.column);
}

std::shared_ptr<ds::Scanner> make_scanner(ds::ScannerBuilder& builder, const ScanRequest& request, bool threads,
                                          const std::string& uri) {
  require_ok(builder.Project(request.columns), uri);
  std::vector<cp::Expression> conditions;
  for (const Condition& condition : request.filter) conditions.push_back(expression_of(condition));
  if (!conditions.empty()) require_ok(builder.Filter(cp::and_(conditions)), uri);
  require_ok(builder.UseThreads(threads), uri);
  require_ok(builder.Pool(decoding_pool()), uri);
  return value_of(builder.Finish(), uri);
}

}  // namespace thalweg::data
