// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "capi/model.h"

#include <nlohmann/json.hpp>

#include "capi/guard.h"
#include "capi/result.h"
#include "model/classification.h"
#include "thalweg/c_api.h"
#include "thalweg/onnx.h"
#include "thalweg/stored_types.h"

using thalweg::DType;
using thalweg::InferenceOptions;
using thalweg::Model;
using thalweg::Shape;
using thalweg::Tensor;
using thalweg::ValueDescription;
using thalweg::capi::guarded;

namespace thalweg::capi {
namespace {

static_assert(static_cast<int>(DType::kF32) == TW_F32 && static_cast<int>(DType::kBool) == TW_BOOL &&
                  static_cast<int>(DType::kU64) == TW_U64 &&
                  static_cast<int>(thalweg::stored::kF8E4M3FN) == TW_F8E4M3FN &&
                  static_cast<int>(thalweg::stored::kU2) == TW_U2 &&
                  static_cast<int>(thalweg::stored::kNothing) == TW_NOTHING,
              "the numbers of tw_dtype are those of DType");

InferenceOptions options_from(const tw_options* given) {
  InferenceOptions options;
  if (given == nullptr) return options;
  TW_REQUIRE(given->threads >= 0 && given->max_programs >= 0 && given->max_seconds >= 0,
             "options: a number is negative");
  TW_REQUIRE(given->precision >= TW_PRECISION_DECLARED && given->precision <= TW_PRECISION_BF16, "options: precision ",
             given->precision, " is unknown");
  options.threads = given->threads;
  if (given->precision == TW_PRECISION_F32) options.precision = Precision::kF32;
  if (given->precision == TW_PRECISION_BF16) options.precision = Precision::kBF16;
  if (given->max_programs > 0) options.max_programs = given->max_programs;
  options.max_memory = given->max_memory;
  options.max_seconds = given->max_seconds;
  return options;
}

void describe(const std::vector<ValueDescription>& values, size_t index, const char* what, tw_value_info* info) {
  TW_REQUIRE(index < values.size(), "there are ", values.size(), " ", what, "s, none of number ", index);
  const ValueDescription& value = values[index];
  info->name = value.name.c_str();
  info->dtype = value.dtype.has_value() ? static_cast<int32_t>(*value.dtype) : static_cast<int32_t>(TW_UNKNOWN);
  info->rank = value.shape.has_value() ? value.shape->rank() : -1;
  info->dims = value.shape.has_value() ? value.shape->dims().data() : nullptr;
}

}  // namespace

std::string& last_error() {
  thread_local std::string text;
  return text;
}

}  // namespace thalweg::capi

using namespace thalweg::capi;

const char* tw_version(void) { return TW_VERSION; }

const char* tw_last_error(void) { return last_error().c_str(); }

tw_status tw_model_load(const char* path, const tw_options* options, tw_model** model) {
  return guarded([&] {
    TW_REQUIRE(path != nullptr && model != nullptr, "tw_model_load: a null pointer");
    *model = new tw_model(Model::load(path, options_from(options)));
  });
}

tw_status tw_model_load_bytes(const void* bytes, size_t size, const tw_options* options, tw_model** model) {
  return guarded([&] {
    TW_REQUIRE(bytes != nullptr && model != nullptr, "tw_model_load_bytes: a null pointer");
    *model = new tw_model(Model::load_bytes(std::string(static_cast<const char*>(bytes), size), options_from(options)));
  });
}

tw_status tw_model_external_files(const char* path, tw_result** result) {
  return guarded([&] {
    TW_REQUIRE(path != nullptr && result != nullptr, "tw_model_external_files: a null pointer");
    const nlohmann::json names = thalweg::onnx::external_files(path);
    // The names are the file's: they may be no UTF-8.
    *result = new tw_result{{}, names.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
  });
}

void tw_model_free(tw_model* model) { delete model; }

size_t tw_model_num_inputs(const tw_model* model) { return model->model.inputs().size(); }
size_t tw_model_num_outputs(const tw_model* model) { return model->model.outputs().size(); }

tw_status tw_model_input(const tw_model* model, size_t index, tw_value_info* info) {
  return guarded([&] { describe(model->model.inputs(), index, "input", info); });
}

tw_status tw_model_output(const tw_model* model, size_t index, tw_value_info* info) {
  return guarded([&] { describe(model->model.outputs(), index, "output", info); });
}

const char* tw_model_metadata(const tw_model* model, const char* key) {
  const char* text = nullptr;
  guarded([&] {
    const auto found = model->model.metadata().find(key);
    if (found != model->model.metadata().end()) text = found->second.c_str();
  });
  return text;
}

tw_status tw_model_run(const tw_model* model, const tw_tensor* inputs, size_t num_inputs, tw_result** result) {
  return guarded([&] {
    TW_REQUIRE(model != nullptr && result != nullptr, "tw_model_run: a null pointer");
    auto made = std::make_unique<tw_result>();
    made->tensors = model->model.predict(tensors_from(inputs, num_inputs));
    // A model may pass an input on as it is: then the caller's memory must not be part of the result.
    for (Tensor& tensor : made->tensors) {
      for (size_t i = 0; i < num_inputs; ++i) {
        if (tensor.raw() == inputs[i].data) tensor = tensor.clone();
      }
    }
    *result = made.release();
  });
}

tw_status tw_model_classify(const tw_model* model, const tw_result* result, size_t index, tw_result** classes) {
  return guarded([&] {
    TW_REQUIRE(model != nullptr && result != nullptr && classes != nullptr, "tw_model_classify: a null pointer");
    const std::vector<ValueDescription>& outputs = model->model.outputs();
    TW_REQUIRE(index < outputs.size() && index < result->tensors.size(), "there are ", outputs.size(),
               " outputs, none of number ", index);
    thalweg::Classification found = thalweg::classify(result->tensors[index], outputs[index].made_by);
    auto made = std::make_unique<tw_result>();
    made->tensors = {std::move(found.probabilities), std::move(found.classes)};
    *classes = made.release();
  });
}

tw_status tw_model_explain(const tw_model* model, const tw_tensor* inputs, size_t num_inputs, tw_result** result) {
  return guarded([&] {
    TW_REQUIRE(model != nullptr && result != nullptr, "tw_model_explain: a null pointer");
    auto made = std::make_unique<tw_result>();
    made->text = model->model.explain(tensors_from(inputs, num_inputs));
    *result = made.release();
  });
}

size_t tw_result_num_tensors(const tw_result* result) { return result->tensors.size(); }

tw_status tw_result_tensor(const tw_result* result, size_t index, tw_tensor* tensor) {
  return guarded([&] {
    TW_REQUIRE(index < result->tensors.size(), "there are ", result->tensors.size(), " outputs, none of number ",
               index);
    // A result belongs to one thread: it may keep what it is asked for.
    *tensor = view_of(result->tensors[index], const_cast<tw_result*>(result)->views);
  });
}

const char* tw_result_text(const tw_result* result) { return result->text.c_str(); }

void tw_result_free(tw_result* result) { delete result; }
