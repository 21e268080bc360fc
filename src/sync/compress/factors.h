// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "sync/compress/compressor.h"

namespace thalweg::sync {

/// Factors of a matrix's gradient, `rows` of each: left [rows, m] and right [rows, n] stand for their product, the
/// first one transposed.
struct Factors {
  size_t rows = 0;
  std::vector<float> left, right;
  void append(std::span<const float> more_left, std::span<const float> more_right, size_t more_rows, float scale);
  /// The sum of squares of the product's elements, without making it.
  double norm_squared() const;
};

/// The form in which gradients travel to servers that compute them: of fully connected layers activations and errors,
/// k (m + n) numbers of k samples in place of m n, unless that is more; all others as they are. Nothing is left out.
class FactorForm : public Compressor {
 public:
  void use(const std::vector<GradientShape>& gradients) override;
  std::unique_ptr<GradientExchange> into_exchange(std::unique_ptr<Compressor> self) override;
  /// What the next code of a gradient, given by its parameter's name, consists of besides its values.
  void give(const std::string& parameter, Factors factors);

  void encode_alone(size_t gradient, std::span<const float> values, Bytes& code) override;
  void decode_alone(size_t gradient, std::span<const std::byte> code, std::span<float> sum) const override;
  size_t most_bytes_alone(size_t gradient) const override;
  /// Of errors, those that the rows of this part take; of a gradient as it is, its elements.
  void append_part(size_t gradient, std::span<const std::byte> code, comm::Part part, Bytes& message) const override;
  void decode_part(size_t gradient, std::span<const std::byte> code, comm::Part part, size_t floats,
                   std::span<float> sum) const override;

 private:
  struct Entry {
    GradientShape shape;
    /// Of the matrix; 0: it is none.
    size_t rows = 0, columns = 0;
    Factors factors;
  };
  /// Rows of the matrix that have a part of its elements; all of them where they do not lie one behind the other.
  static comm::Part rows_of(const Entry& entry, comm::Part part);
  /// `factors` has the rows `of` of the matrix on its left; their elements that lie in the part are added to `sum`.
  static void add_product(const Entry& entry, const Factors& factors, comm::Part of, comm::Part part,
                          std::span<float> sum);

  std::vector<Entry> entries_;
};

}  // namespace thalweg::sync
