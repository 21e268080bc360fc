// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace thalweg::sync {

/// What makes an element large.
enum class Largest { kByMagnitude, kByValue, kByNegatedValue };

/// The places of about the `count` largest elements, in order, and never more than so many. Of many elements a sample
/// of one in a hundred says from where on an element counts as large; then there may be fewer. Elements that are not
/// above 0 by this measure are never among them.
std::vector<uint32_t> places_of_largest(std::span<const float> values, size_t count, Largest by);

}  // namespace thalweg::sync
