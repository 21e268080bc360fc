// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <nlohmann/json.hpp>

#include "capi/columns.h"
#include "capi/guard.h"
#include "capi/model.h"
#include "capi/result.h"
#include "thalweg/c_preparation.h"
#include "thalweg/data/row_preparation.h"

using nlohmann::json;
using thalweg::capi::guarded;
using thalweg::data::RowPreparation;

struct tw_preparation {
  RowPreparation rows;
};

namespace thalweg::capi {
namespace {

using Names = std::vector<std::string>;

json describe(const std::vector<ValueDescription>& values) {
  json list = json::array();
  for (const ValueDescription& value : values) {
    json one = {{"name", value.name}, {"dtype", nullptr}, {"shape", nullptr}};
    if (value.dtype.has_value()) one["dtype"] = name_of(*value.dtype);
    if (value.shape.has_value()) one["shape"] = value.shape->dims();
    list.push_back(std::move(one));
  }
  return list;
}

data::TableInput input_from(const json& described, bool takes_texts) {
  data::TableInput input{described.at("name").get<std::string>(),
                         {takes_texts ? DType::kI64 : DType::kF32, Shape{kFree, kFree}}};
  if (const json& dtype = described.at("dtype"); !dtype.is_null()) {
    input.type.dtype = dtype_from_name(dtype.get<std::string>());
  }
  if (const json& shape = described.at("shape"); !shape.is_null()) {
    input.type.shape = Shape(shape.get<std::vector<int64_t>>());
  }
  return input;
}

RowPreparation preparation_from(const char* description, const char* columns) {
  try {
    const json model = json::parse(description);
    const auto metadata = data::metadata_from(model.at("metadata").get<std::map<std::string, std::string>>());
    std::vector<data::TableInput> inputs;
    for (const json& input : model.at("inputs")) inputs.push_back(input_from(input, metadata.text.has_value()));
    return {metadata, std::move(inputs),
            columns != nullptr ? json::parse(columns).get<std::vector<Names>>() : std::vector<Names>()};
  } catch (const json::exception& error) {
    raise("the description of a model, or the columns of its inputs, cannot be read: ", error.what());
  }
}

}  // namespace
}  // namespace thalweg::capi

tw_status tw_model_description(const tw_model* model, tw_result** result) {
  return guarded([&] {
    TW_REQUIRE(model != nullptr && result != nullptr, "tw_model_description: a null pointer");
    const json text = {{"inputs", thalweg::capi::describe(model->model.inputs())},
                       {"outputs", thalweg::capi::describe(model->model.outputs())},
                       {"metadata", model->model.metadata()}};
    // Names and properties are the file's: they may be no UTF-8.
    *result = new tw_result{{}, text.dump(-1, ' ', false, json::error_handler_t::replace)};
  });
}

tw_status tw_preparation_create(const char* description, const char* columns, tw_preparation** preparation) {
  return guarded([&] {
    TW_REQUIRE(description != nullptr && preparation != nullptr, "tw_preparation_create: a null pointer");
    *preparation = new tw_preparation{thalweg::capi::preparation_from(description, columns)};
  });
}

void tw_preparation_free(tw_preparation* preparation) { delete preparation; }

tw_status tw_preparation_needs(const tw_preparation* preparation, tw_result** result) {
  return guarded([&] {
    TW_REQUIRE(preparation != nullptr && result != nullptr, "tw_preparation_needs: a null pointer");
    const RowPreparation& rows = preparation->rows;
    const json text = {
        {"kind", rows.takes_texts() ? "text" : "columns"}, {"columns", rows.columns()}, {"imputed", rows.imputed()}};
    *result = new tw_result{{}, text.dump()};
  });
}

tw_status tw_preparation_run(const tw_preparation* preparation, const tw_row_column* columns, size_t num_columns,
                             int64_t rows, int64_t filled, tw_result** inputs) {
  return guarded([&] {
    TW_REQUIRE(preparation != nullptr && inputs != nullptr, "tw_preparation_run: a null pointer");
    TW_REQUIRE(rows >= 0 && filled >= rows, rows, " rows cannot be filled up to ", filled);
    const std::vector<thalweg::data::Column> given = thalweg::capi::columns_from(columns, num_columns, rows);
    *inputs = new tw_result{preparation->rows.make(given, filled), {}};
  });
}
