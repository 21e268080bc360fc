// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sync/registry.h"
#include "thalweg/sync.h"

namespace thalweg::sync {

// What schemes are composed of. A preset is a choice of parts by their names, and values of the options that they bring
// along.

struct Composition {
  /// What travels and at what pace: the name of a SchemeKind.
  const char* kind = "gradients";
  /// Along which ways gradients travel (topology.h), and who updates parameters with them (update_place.h), if the kind
  /// leaves that open.
  const char* topology = nullptr;
  const char* place = nullptr;
  /// How weights are brought together (weight_rule.h), if the kind leaves that open.
  const char* rule = nullptr;
};

/// What follows from a composition.
struct Axes {
  Optimisation optimisation = Optimisation::kCentral;
  Schedule schedule = Schedule::kSynchronous;
  Exchange exchange = Exchange::kAllReduce;
  /// A compressor may be used.
  bool compresses = false;
  /// What compressors keep may be copied to other workers.
  bool copies_kept = false;
  /// The scheme becomes another one, and has no axes of its own.
  bool chosen = false;
  std::vector<OptionInfo> options;
};

/// A class of schemes, which the other parts of a composition fill in.
struct SchemeKind {
  std::string name;
  /// `defaults` are those of the preset. Throws Error if the parts do not fit each other, with what would.
  Axes (*describe)(const Composition& parts, const PartOptions& defaults) = nullptr;
  /// The values are of all options that `describe` has named, and the parts fit.
  std::shared_ptr<Scheme> (*make)(const Composition& parts, const PartOptions& values, const SchemeOptions& options,
                                  std::shared_ptr<comm::Group> group) = nullptr;
};
using RegisterSchemeKind = Register<SchemeKind>;

/// Throws Error if there is no kind of that name, or the parts do not fit.
Axes describe(const Composition& parts, const PartOptions& defaults);
std::shared_ptr<Scheme> compose(const Composition& parts, const PartOptions& values, const SchemeOptions& options,
                                std::shared_ptr<comm::Group> group);

/// In which rows of sparse gradients travel with a compression of that name.
DType row_type(const std::string& compression);

/// A row of the table of presets.
struct PresetRow {
  const char* name;
  Composition parts;
  /// Where they differ from what the parts have.
  PartOptions defaults;
  const char* description;
  const char* promise;
  const char* when;
  /// Fewer would make another scheme of it, for the reason.
  int least_workers = 2;
  const char* why_as_many = "";
};
const std::vector<PresetRow>& preset_rows();

}  // namespace thalweg::sync
