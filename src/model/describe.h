// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/model_impl.h"

namespace thalweg {

std::vector<ValueDescription> describe_values(const std::vector<Value*>& values);
/// Takes over the names that a file has for dimensions of its values, by the values' names.
void name_dimensions(std::vector<ValueDescription>& values,
                     const std::map<std::string, std::vector<std::string>>& names);
/// Needs the lock.
ModelSummary summarize(const Model::Impl& model);

}  // namespace thalweg
