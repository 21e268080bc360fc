// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sync/compress/register.h"
#include "sync/part_options.h"
#include "thalweg/sync.h"

namespace thalweg::sync {
namespace {

const RegisterCompressor kNone({{"none", "f32, as they are", {}}, nullptr});

const CompressorPart& part_of_name(const std::string& name) {
  const std::deque<CompressorPart>& all = Registry<CompressorPart>::all();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const CompressorPart& part) { return part.name == name; });
  TW_REQUIRE(found != all.end(), "there is no compression '", name, "'; there are: ", names_of(compressors()));
  return *found;
}

}  // namespace

const std::vector<CompressorInfo>& compressors() {
  static const std::vector<CompressorInfo> all = [] {
    std::vector<CompressorInfo> result;
    for (const CompressorPart& part : Registry<CompressorPart>::all()) result.push_back(part);
    // What is usual comes first.
    std::stable_partition(result.begin(), result.end(), [](const CompressorInfo& info) { return info.name == "none"; });
    return result;
  }();
  return all;
}

const CompressorInfo& compressor_info(const std::string& name) { return part_of_name(name); }

double compressor_option(const std::string& compressor, const std::string& option, const PartOptions& options) {
  for (const OptionInfo& info : part_of_name(compressor).options) {
    if (info.name != option) continue;
    const auto set = options.find(option);
    return set != options.end() ? set->second : info.usual;
  }
  return 0;
}

std::unique_ptr<Compressor> make_compressor(const std::string& name, const PartOptions& options) {
  const CompressorPart& part = part_of_name(name);
  if (part.make == nullptr) return nullptr;
  PartOptions all;
  for (const OptionInfo& option : part.options) {
    const auto set = options.find(option.name);
    all[option.name] = set != options.end() ? checked_value(option, set->second) : option.usual;
  }
  return part.make(all);
}

}  // namespace thalweg::sync
