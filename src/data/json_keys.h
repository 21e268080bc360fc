// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace thalweg::data {

/// An enumeration reads an unknown word as its first value without a complaint, a whole number takes what lies before
/// the point, and defaults hide misspelled keys: what was read (`understood`) must therefore write itself as it was
/// given. Throws Error that begins with `what`.
void check_keys(const std::string& what, const nlohmann::json& given, const nlohmann::json& understood);

/// The JSON as text. Throws Error that begins with `what` if a text in it is not UTF-8, which JSON has to be.
std::string dump_json(const std::string& what, const nlohmann::json& json);

}  // namespace thalweg::data
