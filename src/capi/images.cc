// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "capi/guard.h"
#include "data/image_batch.h"
#include "thalweg/c_api.h"

using thalweg::TensorType;
using thalweg::capi::guarded;
using thalweg::data::ColorMode;
using thalweg::data::DecodeOptions;
using thalweg::data::ImageBytes;
using thalweg::data::Pipeline;

struct tw_pipeline {
  Pipeline pipeline;
  DecodeOptions decode;
  TensorType row;
  size_t row_bytes = 0;
};

namespace thalweg::capi {
namespace {

std::vector<ImageBytes> images_from(const tw_image* given, size_t count) {
  TW_REQUIRE(given != nullptr || count == 0, "the images are a null pointer");
  std::vector<ImageBytes> images;
  images.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const tw_image& one = given[i];
    std::string name = one.name != nullptr ? one.name : "image " + std::to_string(i);
    TW_REQUIRE(one.bytes != nullptr || one.size == 0, name, ": the bytes are a null pointer");
    images.push_back(
        {{static_cast<const uint8_t*>(one.bytes), one.size}, std::move(name), {one.height, one.width}, one.channels});
  }
  return images;
}

}  // namespace
}  // namespace thalweg::capi

tw_status tw_pipeline_create(const char* json, int32_t channels, tw_pipeline** pipeline) {
  return guarded([&] {
    TW_REQUIRE(json != nullptr && pipeline != nullptr, "tw_pipeline_create: a null pointer");
    TW_REQUIRE(channels == 1 || channels == 3, "images become 1 or 3 channels, not ", channels);
    auto made = std::make_unique<tw_pipeline>();
    made->pipeline = Pipeline::from_json(json);
    made->decode.color = channels == 1 ? ColorMode::kGray : ColorMode::kRgb;
    made->row = made->pipeline.output_type(channels);
    made->row_bytes = static_cast<size_t>(made->row.shape.num_elements()) * size_of(made->row.dtype);
    *pipeline = made.release();
  });
}

void tw_pipeline_free(tw_pipeline* pipeline) { delete pipeline; }

tw_status tw_pipeline_row(const tw_pipeline* pipeline, tw_value_info* info) {
  return guarded([&] {
    TW_REQUIRE(pipeline != nullptr && info != nullptr, "tw_pipeline_row: a null pointer");
    const TensorType& row = pipeline->row;
    *info = {"", static_cast<int32_t>(row.dtype), row.shape.rank(), row.shape.dims().data()};
  });
}

tw_status tw_pipeline_run(const tw_pipeline* pipeline, const tw_image* images, size_t count, int32_t threads,
                          void* rows, size_t rows_bytes, uint8_t* failed) {
  return guarded([&] {
    TW_REQUIRE(pipeline != nullptr && (rows != nullptr || count == 0), "tw_pipeline_run: a null pointer");
    TW_REQUIRE(count == 0 || rows_bytes / count >= pipeline->row_bytes, count, " images become ", pipeline->row_bytes,
               " bytes each; there is room for ", rows_bytes, " in all");
    const auto given = thalweg::capi::images_from(images, count);
    const auto problems = thalweg::data::run_pipeline(pipeline->pipeline, pipeline->decode, given, threads, rows);
    bool first = true;
    for (size_t i = 0; i < count; ++i) {
      const bool bad = !problems[i].empty();
      TW_REQUIRE(!bad || failed != nullptr, problems[i]);
      if (failed != nullptr) failed[i] = bad ? 1 : 0;
      if (bad && first) thalweg::capi::last_error() = problems[i];
      first = first && !bad;
    }
  });
}
