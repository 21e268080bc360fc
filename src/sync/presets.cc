// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sync/parts.h"

namespace thalweg::sync {
namespace {

Preset preset_of(const PresetRow& row) {
  Preset preset;
  Axes axes = describe(row.parts, row.defaults);
  preset.name = row.name;
  preset.optimisation = axes.optimisation;
  preset.schedule = axes.schedule;
  preset.exchange = axes.exchange;
  preset.description = row.description;
  preset.promise = row.promise;
  preset.when = row.when;
  preset.least_workers = row.least_workers;
  preset.why_as_many = row.why_as_many;
  preset.compresses = axes.compresses;
  preset.is_chosen = axes.chosen;
  preset.options = std::move(axes.options);
  for (OptionInfo& option : preset.options) {
    const auto own = row.defaults.find(option.name);
    if (own != row.defaults.end()) option.usual = own->second;
  }
  return preset;
}

const PresetRow& row_of(const std::string& name) {
  const std::vector<PresetRow>& rows = preset_rows();
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const PresetRow& row) { return name == row.name; });
  TW_REQUIRE(found != rows.end(), "there is no training scheme '", name, "'; there are: ", names_of(presets()));
  return *found;
}

/// Names of the presets whose options, or compression, include what was asked for.
template <typename Fits>
std::string presets_that(const Fits& fits) {
  std::vector<Preset> fitting;
  std::copy_if(presets().begin(), presets().end(), std::back_inserter(fitting), fits);
  return names_of(fitting);
}

const OptionInfo* find_option(const std::vector<OptionInfo>& options, const std::string& name) {
  const auto found =
      std::find_if(options.begin(), options.end(), [&](const OptionInfo& option) { return option.name == name; });
  return found != options.end() ? &*found : nullptr;
}

/// Throws Error that says which scheme or compression would take the option, or which options there are.
[[noreturn]] void refuse_option(const SchemeOptions& options, const Preset& preset, const CompressorInfo& compressor,
                                const std::string& name) {
  const auto has_it = [&](const auto& part) { return find_option(part.options, name) != nullptr; };
  const std::string schemes = presets_that(has_it);
  if (!schemes.empty()) {
    raise("option ", name, " means nothing to the scheme ", preset.name, "; it is one of: ", schemes);
  }
  std::vector<CompressorInfo> forms;
  std::copy_if(compressors().begin(), compressors().end(), std::back_inserter(forms), has_it);
  if (!forms.empty()) {
    raise("option ", name, " means nothing to the compression ", options.compression,
          "; it is one of the compressions: ", names_of(forms));
  }
  std::vector<OptionInfo> known = preset.options;
  known.insert(known.end(), compressor.options.begin(), compressor.options.end());
  raise("there is no option '", name, "' of the scheme ", preset.name, " with the compression ", options.compression,
        "; there are: ", names_of(known));
}

bool copies_kept(const std::string& name) {
  const PresetRow& row = row_of(name);
  return describe(row.parts, row.defaults).copies_kept;
}

}  // namespace

const std::vector<Preset>& presets() {
  static const std::vector<Preset> all = [] {
    std::vector<Preset> result;
    for (const PresetRow& row : preset_rows()) result.push_back(preset_of(row));
    return result;
  }();
  return all;
}

void check_scheme(const SchemeOptions& options) {
  const Preset preset = preset_of(row_of(options.name));
  const CompressorInfo& compressor = compressor_info(options.compression);
  TW_REQUIRE(!preset.is_chosen || options.compression == "none", "compression ", options.compression,
             " does not go with the scheme ", preset.name,
             ", which chooses one by itself: leave the compression out, or name a scheme");
  TW_REQUIRE(preset.compresses || options.compression == "none", "compression ", options.compression,
             " does not go with the scheme ", preset.name, ", which sends ",
             preset.optimisation == Optimisation::kDecentral ? "weights" : "no gradients",
             ". Leave the compression out, or take one of the schemes: ",
             presets_that([](const Preset& other) { return other.compresses; }));
  for (const auto& [name, value] : options.options) {
    const OptionInfo* option = find_option(preset.options, name);
    if (option == nullptr) option = find_option(compressor.options, name);
    if (option == nullptr) refuse_option(options, preset, compressor, name);
    checked_value(*option, value);
  }
  TW_REQUIRE(copies_kept(options.name) || options.options.count("copy_every") == 0,
             "option copy_every needs workers that see at every step what all others send, which those of the scheme ",
             preset.name, " do not: leave it out, or take one of the schemes: ",
             presets_that([](const Preset& other) { return copies_kept(other.name); }));
}

std::shared_ptr<Scheme> make_scheme(const SchemeOptions& options, std::shared_ptr<comm::Group> group) {
  check_scheme(options);
  const PresetRow& row = row_of(options.name);
  PartOptions values;
  for (const OptionInfo& option : preset_of(row).options) values[option.name] = option.usual;
  for (const auto& [name, value] : options.options) {
    if (values.count(name) > 0) values[name] = value;
  }
  return compose(row.parts, values, options, std::move(group));
}

}  // namespace thalweg::sync
