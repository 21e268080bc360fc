// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "capi/rows.h"

#include <nlohmann/json.hpp>

#include "capi/guard.h"

using nlohmann::json;
using thalweg::data::RowField;
using thalweg::data::RowStore;

namespace thalweg::capi {
namespace {

/// The place of a text among those there are.
template <typename Choice>
Choice choice(const json& field, const char* key, std::initializer_list<std::pair<const char*, Choice>> known) {
  const auto text = field.at(key).get<std::string>();
  std::string names;
  for (const auto& [name, value] : known) {
    if (text == name) return value;
    names += std::string(names.empty() ? "" : ", ") + name;
  }
  raise("field '", field.value("name", ""), "': ", key, " is '", text, "', must be one of: ", names);
}

RowField field_from(const json& object) {
  RowField field;
  field.name = object.at("name").get<std::string>();
  field.role = choice<RowField::Role>(
      object, "role",
      {{"input", RowField::Role::kInput}, {"target", RowField::Role::kTarget}, {"name", RowField::Role::kName}});
  field.kind = choice<RowField::Kind>(
      object, "kind",
      {{"tensor", RowField::Kind::kTensor}, {"image", RowField::Kind::kImage}, {"text", RowField::Kind::kText}});
  if (field.kind == RowField::Kind::kTensor) {
    field.type = {dtype_from_name(object.at("dtype").get<std::string>()),
                  Shape(object.at("shape").get<std::vector<int64_t>>())};
  }
  if (field.kind == RowField::Kind::kImage) {
    field.pipeline = data::Pipeline::from_json(object.at("pipeline").dump());
    if (object.contains("color")) {
      field.decode.color =
          choice<data::ColorMode>(object, "color", {{"rgb", data::ColorMode::kRgb}, {"gray", data::ColorMode::kGray}});
    }
  }
  return field;
}

std::vector<RowField> fields_from(const char* text) {
  TW_REQUIRE(text != nullptr, "the fields of rows are a null pointer");
  try {
    std::vector<RowField> fields;
    for (const json& object : json::parse(text)) fields.push_back(field_from(object));
    return fields;
  } catch (const json::exception& error) {
    raise("the fields of rows cannot be read: ", error.what());
  }
}

data::RowChunk chunk_from(int64_t count, const tw_column* columns, size_t num_columns) {
  TW_REQUIRE(columns != nullptr || num_columns == 0, "the columns are a null pointer");
  TW_REQUIRE(count >= 0, "there cannot be ", count, " rows");
  data::RowChunk chunk{count, {}};
  for (size_t i = 0; i < num_columns; ++i) {
    const tw_column& column = columns[i];
    TW_REQUIRE(column.bytes != nullptr || column.size == 0, "the bytes of column ", i, " are a null pointer");
    data::RowChunk::Column& made = chunk.columns.emplace_back();
    made.bytes = {static_cast<const std::byte*>(column.bytes), column.size};
    if (column.offsets != nullptr) made.offsets = {column.offsets, static_cast<size_t>(count) + 1};
  }
  return chunk;
}

}  // namespace
}  // namespace thalweg::capi

using thalweg::capi::guarded;

tw_status tw_rows_create(const char* fields, uint64_t memory_bytes, const char* directory, tw_rows** rows) {
  return guarded([&] {
    TW_REQUIRE(rows != nullptr, "the rows are a null pointer");
    thalweg::data::RowStoreOptions options;
    if (memory_bytes > 0) options.memory_bytes = static_cast<int64_t>(memory_bytes);
    if (directory != nullptr) options.directory = directory;
    *rows = new tw_rows{std::make_shared<RowStore>(thalweg::capi::fields_from(fields), options)};
  });
}

tw_status tw_rows_append(tw_rows* rows, int64_t count, const tw_column* columns, size_t num_columns) {
  return guarded([&] {
    TW_REQUIRE(rows != nullptr, "the rows are a null pointer");
    rows->store->append(thalweg::capi::chunk_from(count, columns, num_columns));
  });
}

int64_t tw_rows_count(const tw_rows* rows) { return rows->store->num_rows(); }

void tw_rows_free(tw_rows* rows) { delete rows; }
