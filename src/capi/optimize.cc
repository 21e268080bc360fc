// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/optimize.h"

#include <memory>
#include <sstream>

#include "capi/guard.h"
#include "capi/result.h"

namespace thalweg::capi {
namespace {

OptimizeOptions options_from(const tw_optimize_options* given) {
  OptimizeOptions options;
  if (given == nullptr) return options;
  TW_REQUIRE(given->threads >= 0 && given->max_drop >= 0.0 && given->seconds >= 0.0, "options: a number is negative");
  std::istringstream forms(given->forms != nullptr ? given->forms : "");
  for (std::string name; std::getline(forms, name, ',');) options.forms.push_back(model_form_from_name(name));
  if (given->calibration != nullptr) options.calibration = calibration_from_name(given->calibration);
  for (size_t batch = 0; batch < given->num_batches; ++batch) {
    TW_REQUIRE(given->data != nullptr, "options: the data is a null pointer");
    options.data.push_back(tensors_from(given->data + batch * given->num_inputs, given->num_inputs));
  }
  if (given->max_drop > 0.0) options.max_drop = given->max_drop;
  if (given->seconds > 0.0) options.seconds = given->seconds;
  options.threads = given->threads;
  return options;
}

}  // namespace
}  // namespace thalweg::capi

tw_status tw_optimize(const char* path, const char* output, const tw_optimize_options* options, tw_result** result) {
  return thalweg::capi::guarded([&] {
    TW_REQUIRE(path != nullptr && result != nullptr, "the path or the result is a null pointer");
    auto made = std::make_unique<tw_result>();
    const auto report = thalweg::optimize(path, output != nullptr ? output : "", thalweg::capi::options_from(options));
    made->text = thalweg::to_json(report);
    *result = made.release();
  });
}
