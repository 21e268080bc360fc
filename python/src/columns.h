// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "casters.h"
#include "thalweg/data/features.h"

namespace thalweg {
class Model;
}

/// Columns of tables: in Python a dict of arrays of numbers and lists of texts.
namespace thalweg::python {

/// Of a dict, a pandas frame, or an Arrow table or record batch; those of these names if there are any. Columns in
/// `imputed` may lack values.
std::vector<data::Column> columns_from(nb::handle table, const std::vector<std::string>& names = {},
                                       const std::vector<std::string>& imputed = {});
nb::dict columns_to_dict(const std::vector<data::Column>& columns);

/// True if `given` is a table and the model's file says how one becomes its inputs.
bool is_table_for(const Model& model, nb::handle given);
/// Of a table with columns `names`: those that the model needs, and those of them that may lack values.
std::pair<std::vector<std::string>, std::vector<std::string>> columns_needed(const Model& model,
                                                                             const std::vector<std::string>& names);
/// The inputs of the model, in its order.
std::vector<Tensor> inputs_from_table(const Model& model, nb::handle table);

}  // namespace thalweg::python
