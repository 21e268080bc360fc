// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/gradient_scheme.h"
#include "sync/parts.h"
#include "sync/stale_scheme.h"
#include "sync/weight_scheme.h"

namespace thalweg::sync {
namespace {

constexpr double kMany = 1e12;

DType row_type(const std::string& compression) {
  if (compression == "bf16") return DType::kBF16;
  return compression == "f16" ? DType::kF16 : DType::kF32;
}

std::unique_ptr<UpdatePlace> make_place(const Composition& parts, const PartOptions& values) {
  switch (parts.updates) {
    case Updates::kOwners: return make_update_by_owners(static_cast<int>(values.at("copies")));
    case Updates::kRoot: return make_update_at_root(static_cast<int>(values.at("copies")));
    default: return make_update_everywhere();
  }
}

}  // namespace

std::vector<OptionInfo> options_of(const Composition& parts) {
  std::vector<OptionInfo> options;
  if (parts.travels == Travels::kGradients && parts.pace == Pace::kEveryStep) {
    options.push_back({"bucket_bytes", 4 << 20, 1, kMany, true,
                       "gradients are exchanged in pieces of about so many bytes, each as soon as it is complete"});
  }
  if (parts.updates == Updates::kOwners || parts.updates == Updates::kRoot) {
    options.push_back({"copies", 1, 0, kMany, true,
                       "others that keep a copy of an owner's optimiser state: so many may be lost at a time"});
  }
  if (parts.pace == Pace::kBounded) {
    options.push_back(
        {"staleness", 0, kUnbounded, kMany, true, "steps that a worker may be ahead of the slowest; -1: any number"});
    options.push_back({"patience", 600, 1e-3, kMany, false,
                       "seconds that a worker waits for one that is behind before it does without it"});
    options.push_back({"own_first", 0, 0, 1, true, "1: a worker waits until weights contain its own last gradient"});
  }
  if (parts.pace == Pace::kPeriod) {
    options.push_back({"period", 10, 1, kMany, true, "steps between two exchanges"});
  }
  if (parts.rule != nullptr) {
    const std::vector<OptionInfo>& own = weight_rule(parts.rule).options;
    options.insert(options.end(), own.begin(), own.end());
  }
  return options;
}

std::shared_ptr<Scheme> compose(const Composition& parts, const PartOptions& values, const SchemeOptions& options,
                                std::shared_ptr<comm::Group> group) {
  const DType rows = row_type(options.compression);
  if (parts.travels == Travels::kWeights) {
    const auto period = static_cast<int64_t>(values.at("period"));
    const auto news = values.find("news");
    WeightScheme::Parts built{period, news != values.end() ? static_cast<int64_t>(news->second) : period,
                              weight_rule(parts.rule).make(values)};
    return std::make_shared<WeightScheme>(std::move(group), options, std::move(built));
  }
  std::unique_ptr<Compressor> compressor = make_compressor(options.compression, options.options);
  if (parts.pace == Pace::kBounded) {
    StaleParts built{static_cast<int64_t>(values.at("staleness")), std::chrono::duration<double>(values.at("patience")),
                     values.at("own_first") > 0, std::move(compressor), rows};
    return make_stale_synchronous(std::move(group), options, std::move(built));
  }
  GradientScheme::Parts built{
      static_cast<size_t>(values.at("bucket_bytes")), std::move(compressor), rows, make_place(parts, values),
      static_cast<int64_t>(compressor_option(options.compression, "copy_every", options.options))};
  return std::make_shared<GradientScheme>(std::move(group), options, std::move(built));
}

}  // namespace thalweg::sync
