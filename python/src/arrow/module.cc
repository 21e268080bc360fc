// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "casters.h"
#include "thalweg/data/table.h"

/// Tables in files. Arrow's libraries must be in the process before this module is loaded: thalweg/_tables.py.
NB_MODULE(_arrow, module) {
  module.doc() = "Tables in files, by way of Arrow.";
  module.def("arrow_version", thalweg::data::arrow_version, "Of the Arrow library that reads the files.");
}
