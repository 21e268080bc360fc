// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/parts.h"

namespace thalweg::sync {
namespace {

const SchemeKind& kind_of(const Composition& parts) {
  return Registry<SchemeKind>::find(parts.kind, "kind of training scheme");
}

}  // namespace

DType row_type(const std::string& compression) {
  if (compression == "bf16") return DType::kBF16;
  return compression == "f16" ? DType::kF16 : DType::kF32;
}

Axes describe(const Composition& parts, const PartOptions& defaults) {
  return kind_of(parts).describe(parts, defaults);
}

std::shared_ptr<Scheme> compose(const Composition& parts, const PartOptions& values, const SchemeOptions& options,
                                std::shared_ptr<comm::Group> group) {
  describe(parts, {});
  return kind_of(parts).make(parts, values, options, std::move(group));
}

}  // namespace thalweg::sync
