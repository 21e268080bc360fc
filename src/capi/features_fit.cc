// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/features_fit.h"

#include <nlohmann/json.hpp>

#include "capi/columns.h"
#include "capi/guard.h"
#include "capi/result.h"

using nlohmann::json;
using thalweg::capi::guarded;
using thalweg::data::FeaturesFit;

struct tw_features_fit {
  FeaturesFit fit;
};

tw_status tw_features_fit_create(const char* plan, tw_features_fit** fit) {
  return guarded([&] {
    TW_REQUIRE(plan != nullptr && fit != nullptr, "tw_features_fit_create: a null pointer");
    *fit = new tw_features_fit{FeaturesFit::from_json(plan)};
  });
}

void tw_features_fit_free(tw_features_fit* fit) { delete fit; }

tw_status tw_features_fit_plan(const tw_features_fit* fit, tw_result** result) {
  return guarded([&] {
    TW_REQUIRE(fit != nullptr && result != nullptr, "tw_features_fit_plan: a null pointer");
    json plan = json::parse(fit->fit.to_json());
    plan["done"] = fit->fit.is_done();
    plan["columns"] = fit->fit.sources();
    plan["imputed"] = fit->fit.features().imputed();
    *result = new tw_result{{}, plan.dump()};
  });
}

tw_status tw_features_fit_see(tw_features_fit* fit, const tw_row_column* columns, size_t num_columns, int64_t rows) {
  return guarded([&] {
    TW_REQUIRE(fit != nullptr, "tw_features_fit_see: a null pointer");
    fit->fit.see(thalweg::capi::columns_from(columns, num_columns, rows));
  });
}

tw_status tw_features_fit_state(const tw_features_fit* fit, tw_result** result) {
  return guarded([&] {
    TW_REQUIRE(fit != nullptr && result != nullptr, "tw_features_fit_state: a null pointer");
    *result = new tw_result{{}, fit->fit.state()};
  });
}

tw_status tw_features_fit_merge(tw_features_fit* fit, const char* state) {
  return guarded([&] {
    TW_REQUIRE(fit != nullptr && state != nullptr, "tw_features_fit_merge: a null pointer");
    fit->fit.merge(state);
  });
}

tw_status tw_features_fit_end_pass(tw_features_fit* fit) {
  return guarded([&] {
    TW_REQUIRE(fit != nullptr, "tw_features_fit_end_pass: a null pointer");
    fit->fit.end_pass();
  });
}
