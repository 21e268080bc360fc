// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/compress/factors.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/variables.h"
#include "sync/compress/bits.h"
#include "sync/gradient_exchange.h"

namespace thalweg::sync {
namespace {

/// Products of fewer elements stay on the calling thread.
constexpr size_t kThreadedElements = size_t{1} << 16U;

double dot(const float* a, const float* b, size_t count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < count; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

void put_floats(std::span<const float> values, Bytes& code) {
  const std::span<const std::byte> bytes = std::as_bytes(values);
  code.insert(code.end(), bytes.begin(), bytes.end());
}

std::vector<float> take_floats(std::span<const std::byte>& code, size_t count) {
  std::vector<float> values(count);
  std::memcpy(values.data(), code.data(), count * sizeof(float));
  code = code.subspan(count * sizeof(float));
  return values;
}

}  // namespace

void Factors::append(std::span<const float> more_left, std::span<const float> more_right, size_t more_rows,
                     float scale) {
  for (const float value : more_left) left.push_back(scale * value);
  right.insert(right.end(), more_right.begin(), more_right.end());
  rows += more_rows;
}

double Factors::norm_squared() const {
  if (rows == 0) return 0;
  const size_t m = left.size() / rows, n = right.size() / rows;
  double total = 0;
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < rows; ++j) {
      total += dot(left.data() + i * m, left.data() + j * m, m) * dot(right.data() + i * n, right.data() + j * n, n);
    }
  }
  return total;
}

void FactorForm::use(const std::vector<GradientShape>& gradients) {
  entries_.clear();
  for (const GradientShape& gradient : gradients) {
    Entry entry{gradient, 0, 0, {}};
    if (gradient.layout && gradient.layout->shape().rank() == 2) {
      entry.rows = static_cast<size_t>(gradient.layout->shape()[0]);
      entry.columns = static_cast<size_t>(gradient.layout->shape()[1]);
    }
    entries_.push_back(std::move(entry));
  }
}

std::unique_ptr<GradientExchange> FactorForm::into_exchange(std::unique_ptr<Compressor> /*self*/) {
  raise("activations and errors travel to servers only");
}

void FactorForm::give(const std::string& parameter, Factors factors) {
  const auto entry =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& one) { return one.shape.name == parameter; });
  TW_REQUIRE(entry != entries_.end() && factors.left.size() == factors.rows * entry->rows &&
                 factors.right.size() == factors.rows * entry->columns,
             "factors of another shape than parameter '", parameter, "' has");
  entry->factors = std::move(factors);
}

comm::Part FactorForm::rows_of(const Entry& entry, comm::Part part) {
  if (!entry.shape.layout->is_plain()) return {0, entry.rows};
  return {part.begin / entry.columns, (part.end + entry.columns - 1) / entry.columns};
}

/// A number of samples, 0 for a gradient as it is; then the left and the right factor, or the gradient.
void FactorForm::encode_alone(size_t gradient, std::span<const float> values, Bytes& code) {
  Entry& entry = entries_[gradient];
  const Factors factors = std::exchange(entry.factors, {});
  const bool is_shorter = factors.rows > 0 && factors.left.size() + factors.right.size() < values.size();
  put_number(code, static_cast<uint64_t>(is_shorter ? factors.rows : 0));
  if (is_shorter) {
    put_floats(factors.left, code);
    put_floats(factors.right, code);
    return;
  }
  std::vector<float> sum(values.begin(), values.end());
  if (factors.rows > 0) add_product(entry, factors, {0, entry.rows}, {0, sum.size()}, sum);
  put_floats(sum, code);
}

size_t FactorForm::most_bytes_alone(size_t gradient) const {
  return sizeof(uint64_t) + entries_[gradient].shape.floats * sizeof(float);
}

void FactorForm::decode_alone(size_t gradient, std::span<const std::byte> code, std::span<float> sum) const {
  decode_part(gradient, code, {0, sum.size()}, sum.size(), sum);
}

void FactorForm::append_part(size_t gradient, std::span<const std::byte> code, comm::Part part, Bytes& message) const {
  const Entry& entry = entries_[gradient];
  const auto samples = take_number<uint64_t>(code);
  put_number(message, samples);
  if (samples == 0) {
    const std::span<const std::byte> own = code.subspan(part.begin * sizeof(float), part.size() * sizeof(float));
    message.insert(message.end(), own.begin(), own.end());
    return;
  }
  const comm::Part rows = rows_of(entry, part);
  for (uint64_t k = 0; k < samples; ++k) {
    const std::span<const std::byte> own =
        code.subspan((k * entry.rows + rows.begin) * sizeof(float), rows.size() * sizeof(float));
    message.insert(message.end(), own.begin(), own.end());
  }
  const std::span<const std::byte> right = code.subspan(samples * entry.rows * sizeof(float));
  message.insert(message.end(), right.begin(), right.end());
}

void FactorForm::decode_part(size_t gradient, std::span<const std::byte> code, comm::Part part, size_t /*floats*/,
                             std::span<float> sum) const {
  const Entry& entry = entries_[gradient];
  TW_REQUIRE(code.size() <= most_bytes_alone(gradient), "the code of a gradient has ", code.size(), " bytes");
  Factors factors;
  factors.rows = take_number<uint64_t>(code);
  if (factors.rows == 0) {
    TW_REQUIRE(code.size() == sum.size_bytes(), "a gradient of ", sum.size(), " elements has ", code.size(), " bytes");
    const std::vector<float> values = take_floats(code, sum.size());
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
    return;
  }
  TW_REQUIRE(entry.columns > 0, "activations and errors of what is no matrix");
  const comm::Part rows = rows_of(entry, part);
  const size_t of_a_sample = (rows.size() + entry.columns) * sizeof(float);
  TW_REQUIRE(code.size() % of_a_sample == 0 && code.size() / of_a_sample == factors.rows, "activations and errors of ",
             factors.rows, " samples have ", code.size(), " bytes");
  factors.left = take_floats(code, factors.rows * rows.size());
  factors.right = take_floats(code, factors.rows * entry.columns);
  add_product(entry, factors, rows, part, sum);
}

void FactorForm::add_product(const Entry& entry, const Factors& factors, comm::Part of, comm::Part part,
                             std::span<float> sum) {
  const size_t columns = entry.columns;
  std::vector<float> product(of.size() * columns);
#pragma omp parallel for schedule(static) if (product.size() >= kThreadedElements)
  for (size_t r = 0; r < of.size(); ++r) {
    float* row = product.data() + r * columns;
    for (size_t k = 0; k < factors.rows; ++k) {
      const float factor = factors.left[k * of.size() + r];
      const float* right = factors.right.data() + k * columns;
#pragma omp simd
      for (size_t c = 0; c < columns; ++c) row[c] += factor * right[c];
    }
  }
  std::vector<float> arranged;
  const float* first = product.data() + (part.begin - of.begin * columns);
  if (!entry.shape.layout->is_plain()) {
    arranged.resize(entry.shape.floats);
    reorder(Layout(entry.shape.layout->type()), product.data(), *entry.shape.layout, arranged.data());
    first = arranged.data() + part.begin;
  }
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += first[i];
}

}  // namespace thalweg::sync
