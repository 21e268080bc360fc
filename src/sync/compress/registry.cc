// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sync/compress/compressor.h"
#include "sync/part_options.h"
#include "thalweg/sync.h"

namespace thalweg::sync {
namespace {

struct Entry {
  CompressorInfo info;
  std::unique_ptr<Compressor> (*make)(const PartOptions&);
};

OptionInfo copy_every(double steps) {
  return {"copy_every",
          steps,
          0,
          1e12,
          true,
          "steps in which what a worker keeps goes to another one once, which takes it over if it is lost; 0: never"};
}

std::vector<OptionInfo> topk_options(double momentum, double warm_up) {
  return {{"share", 0.001, 1e-7, 1, false, "of the elements that travel"},
          {"compressor_momentum", momentum, 0, 0.999999, false,
           "momentum of gradients before they gather; the optimiser has none then"},
          {"warm_up", warm_up, 0, 1e12, true, "steps over which the share falls from a quarter"},
          copy_every(1000)};
}

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = {
      {{"none", "f32, as they are", {}}, nullptr},
      {{"bf16", "half the bytes, the range of f32", {}}, make_bf16},
      {{"f16", "half the bytes, more digits, numbers up to 65504", {}}, make_f16},
      {{"terngrad",
        "2 bits: each element becomes -s, 0 or s at random, with its value as the mean; nothing is left for later "
        "(TernGrad)",
        {{"clip", 2.5, 0, 1e6, false, "elements are cut down to so many standard deviations; 0: they are not"}}},
       make_terngrad},
      {{"qsgd",
        "a sign and one of a few levels for each element, at random with its value as the mean; nothing is left for "
        "later (QSGD): 4 bits with 7 levels",
        {{"levels", 7, 1, 32767, true, "between 0 and the norm of a block"},
         {"block", 512, 1, 1 << 20, true, "elements that have one norm"}}},
       make_qsgd},
      {{"signsgd", "1 bit: signs, and the mean absolute value (signSGD with error feedback)", {copy_every(128)}},
       make_signsgd},
      {{"topk", "the largest elements, as places and values of 32 bits each", topk_options(0, 0)}, make_topk},
      {{"dgc",
        "topk with momentum before compression, and warm-up (deep gradient compression); for sgd without momentum",
        topk_options(0.9, 400)},
       make_topk},
      {{"sbc",
        "the places of the largest elements of one sign, Golomb-coded, and their mean (sparse binary compression)",
        {{"share", 0.001, 1e-7, 0.5, false, "of the elements that travel"}, copy_every(1000)}},
       make_sbc},
      {{"powersgd",
        "matrices as products of two narrow ones (PowerSGD)",
        {{"rank", 2, 1, 256, true, "columns of the narrow ones"}, copy_every(128)}},
       make_powersgd},
  };
  return all;
}

const Entry& entry_of(const std::string& name) {
  const auto found =
      std::find_if(entries().begin(), entries().end(), [&](const Entry& entry) { return entry.info.name == name; });
  TW_REQUIRE(found != entries().end(), "there is no compression '", name, "'; there are: ", names_of(compressors()));
  return *found;
}

}  // namespace

const std::vector<CompressorInfo>& compressors() {
  static const std::vector<CompressorInfo> all = [] {
    std::vector<CompressorInfo> result;
    for (const Entry& entry : entries()) result.push_back(entry.info);
    return result;
  }();
  return all;
}

const CompressorInfo& compressor_info(const std::string& name) { return entry_of(name).info; }

double compressor_option(const std::string& compressor, const std::string& option, const PartOptions& options) {
  for (const OptionInfo& info : entry_of(compressor).info.options) {
    if (info.name != option) continue;
    const auto set = options.find(option);
    return set != options.end() ? set->second : info.usual;
  }
  return 0;
}

std::unique_ptr<Compressor> make_compressor(const std::string& name, const PartOptions& options) {
  const Entry& entry = entry_of(name);
  if (entry.make == nullptr) return nullptr;
  PartOptions all;
  for (const OptionInfo& option : entry.info.options) {
    const auto set = options.find(option.name);
    all[option.name] = set != options.end() ? checked_value(option, set->second) : option.usual;
  }
  return entry.make(all);
}

}  // namespace thalweg::sync
