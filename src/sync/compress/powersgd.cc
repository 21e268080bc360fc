// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// PowerSGD (Vogels et al., 2019): a gradient, as a matrix M of its first dimension by all others, travels as two narrow
// matrices: P = M Q is added up over the workers and its columns made orthonormal, then Q = M' P is. The sum of all
// gradients is about P Q'. Q serves again at the next step, so that few steps come close to the best such pair. What
// the sum leaves out of it, every worker keeps its share of. Gradients that this would not make shorter by half travel
// as they are.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/variables.h"
#include "sync/compress/bits.h"
#include "sync/compress/feedback.h"
#include "sync/compress/register.h"

namespace thalweg::sync {
namespace {

/// A matrix by rows.
struct Matrix {
  size_t rows = 0, columns = 0;
  std::vector<float> values;
  Matrix() = default;
  Matrix(size_t r, size_t c) : rows(r), columns(c), values(r * c) {}
  float* row(size_t r) { return values.data() + r * columns; }
  const float* row(size_t r) const { return values.data() + r * columns; }
};

/// `to` = m q, m being rows x columns.
void multiply(const float* m, size_t rows, size_t columns, const Matrix& q, Matrix& to) {
  const size_t rank = q.columns;
  std::fill(to.values.begin(), to.values.end(), 0.0F);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) {
      for (size_t k = 0; k < rank; ++k) to.row(r)[k] += m[r * columns + c] * q.row(c)[k];
    }
  }
}

/// `to` = m transposed times p.
void multiply_transposed(const float* m, size_t rows, size_t columns, const Matrix& p, Matrix& to) {
  const size_t rank = p.columns;
  std::fill(to.values.begin(), to.values.end(), 0.0F);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) {
      for (size_t k = 0; k < rank; ++k) to.row(c)[k] += m[r * columns + c] * p.row(r)[k];
    }
  }
}

/// Gram and Schmidt's way, column by column. A column that the others span already becomes zero.
void orthonormalise(Matrix& p) {
  for (size_t k = 0; k < p.columns; ++k) {
    double before = 0;
    for (size_t r = 0; r < p.rows; ++r) before += static_cast<double>(p.row(r)[k]) * p.row(r)[k];
    for (size_t j = 0; j < k; ++j) {
      double product = 0;
      for (size_t r = 0; r < p.rows; ++r) product += static_cast<double>(p.row(r)[j]) * p.row(r)[k];
      for (size_t r = 0; r < p.rows; ++r) p.row(r)[k] -= static_cast<float>(product) * p.row(r)[j];
    }
    double squares = 0;
    for (size_t r = 0; r < p.rows; ++r) squares += static_cast<double>(p.row(r)[k]) * p.row(r)[k];
    // Rounding leaves something of a column that depends on the others.
    constexpr double kDependent = 1e-10;
    const auto scale = squares > kDependent * before ? static_cast<float>(1.0 / std::sqrt(squares)) : 0.0F;
    for (size_t r = 0; r < p.rows; ++r) p.row(r)[k] *= scale;
  }
}

class PowerSgd : public WithFeedback<SummedCompressor> {
 public:
  explicit PowerSgd(size_t rank) : rank_(rank) {}

  /// Q starts afresh, at random and alike at every worker: whoever has just come has no other.
  void use(const std::vector<GradientShape>& gradients) override {
    WithFeedback::use(gradients);
    entries_.assign(gradients.size(), {});
    for (size_t i = 0; i < gradients.size(); ++i) begin_with(gradients[i], i);
  }

  DType dtype() const override { return DType::kF32; }
  bool shares_sum(size_t gradient) const override { return entries_[gradient].factored; }
  int rounds() const override { return 2; }

  size_t code_elements(size_t gradient, int round) const override {
    const Entry& entry = entries_[gradient];
    if (!entry.factored) return round == 0 ? floats(gradient) : 0;
    return round == 0 ? entry.p.values.size() : entry.q.values.size();
  }

  void encode(size_t gradient, std::span<const float> values, void* code) override {
    Entry& entry = entries_[gradient];
    if (!entry.factored) {
      std::memcpy(code, values.data(), values.size_bytes());
      return;
    }
    const std::span<float> whole = residual().next(gradient);
    add_kept(values, residual().kept(gradient), whole);
    drop_non_finite(whole);
    multiply(plain(gradient, whole), entry.p.rows, entry.q.rows, entry.q, entry.p);
    copy_out(entry.p, code);
  }

  void encode_next(size_t gradient, int /*round*/, const void* sum, void* code) override {
    Entry& entry = entries_[gradient];
    if (!entry.factored) {
      entry.dense.resize(floats(gradient));
      std::memcpy(entry.dense.data(), sum, entry.dense.size() * sizeof(float));
      return;
    }
    std::memcpy(entry.p.values.data(), sum, entry.p.values.size() * sizeof(float));
    orthonormalise(entry.p);
    multiply_transposed(plain(gradient, residual().next(gradient)), entry.p.rows, entry.q.rows, entry.p, entry.q);
    copy_out(entry.q, code);
  }

  void decode(size_t gradient, const void* sum, std::span<float> values) override {
    Entry& entry = entries_[gradient];
    if (!entry.factored) {
      std::copy(entry.dense.begin(), entry.dense.end(), values.begin());
      return;
    }
    std::memcpy(entry.q.values.data(), sum, entry.q.values.size() * sizeof(float));
    product_into(entry, entry.p, entry.q, entry.plain, values);
    const auto share = 1.0F / static_cast<float>(step().workers);
    const std::span<float> kept = residual().next(gradient);
    for (size_t i = 0; i < kept.size(); ++i) kept[i] -= share * values[i];
    drop_non_finite(kept);
  }

  void encode_alone(size_t gradient, std::span<const float> values, Bytes& code) override {
    Entry& entry = entries_[gradient];
    const size_t at = code.size();
    code.resize(at + most_bytes_alone(gradient));
    std::byte* next = code.data() + at;
    if (!entry.factored) {
      std::memcpy(next, values.data(), values.size_bytes());
      return;
    }
    encode(gradient, values, next);
    orthonormalise(entry.p);
    copy_out(entry.p, next);
    const std::span<float> kept = residual().next(gradient);
    multiply_transposed(plain(gradient, kept), entry.p.rows, entry.q.rows, entry.p, entry.q);
    copy_out(entry.q, next + entry.p.values.size() * sizeof(float));
    std::vector<float> sent(values.size());
    product_into(entry, entry.p, entry.q, entry.plain, sent);
    for (size_t i = 0; i < kept.size(); ++i) kept[i] -= sent[i];
    drop_non_finite(kept);
  }

  void decode_alone(size_t gradient, std::span<const std::byte> code, std::span<float> sum) const override {
    const Entry& entry = entries_[gradient];
    TW_REQUIRE(code.size() == most_bytes_alone(gradient), "the code of a gradient has ", code.size(), " bytes, not ",
               most_bytes_alone(gradient));
    std::vector<float> values(sum.size());
    if (entry.factored) {
      Matrix p(entry.p.rows, entry.p.columns), q(entry.q.rows, entry.q.columns);
      std::memcpy(p.values.data(), code.data(), p.values.size() * sizeof(float));
      std::memcpy(q.values.data(), code.data() + p.values.size() * sizeof(float), q.values.size() * sizeof(float));
      std::vector<float> plain(entry.plain.size());
      product_into(entry, p, q, plain, values);
    } else {
      std::memcpy(values.data(), code.data(), code.size());
    }
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
  }

  size_t most_bytes_alone(size_t gradient) const override {
    const Entry& entry = entries_[gradient];
    if (!entry.factored) return floats(gradient) * sizeof(float);
    return (entry.p.values.size() + entry.q.values.size()) * sizeof(float);
  }

 private:
  struct Entry {
    bool factored = false;
    Matrix p, q;
    /// None: the memory is the matrix.
    std::optional<Layout> layout;
    /// The gradient in plain layout, where it lies otherwise.
    std::vector<float> plain;
    /// The sum of a gradient that travels as it is.
    std::vector<float> dense;
  };

  void begin_with(const GradientShape& gradient, size_t number) {
    Entry& entry = entries_[number];
    if (!gradient.layout || gradient.layout->shape().rank() < 2) return;
    const Shape& shape = gradient.layout->shape();
    const auto rows = static_cast<size_t>(shape[0]);
    const size_t columns = rows > 0 ? static_cast<size_t>(shape.num_elements()) / rows : 0;
    if (2 * rank_ * (rows + columns) >= rows * columns) return;
    entry.factored = true;
    entry.p = Matrix(rows, rank_);
    entry.q = Matrix(columns, rank_);
    CodeRandom random({}, number);
    for (float& value : entry.q.values) value = 2 * random.uniform() - 1;
    if (!gradient.layout->is_plain()) entry.layout = gradient.layout;
    if (entry.layout) entry.plain.resize(rows * columns);
  }

  const float* plain(size_t gradient, std::span<const float> values) {
    Entry& entry = entries_[gradient];
    if (!entry.layout) return values.data();
    reorder(*entry.layout, values.data(), Layout(entry.layout->type()), entry.plain.data());
    return entry.plain.data();
  }

  static void copy_out(const Matrix& matrix, void* code) {
    std::memcpy(code, matrix.values.data(), matrix.values.size() * sizeof(float));
  }

  /// In the layout of the gradient; `plain` is room for it where that is another.
  static void product_into(const Entry& entry, const Matrix& p, const Matrix& q, std::vector<float>& plain,
                           std::span<float> values) {
    float* to = entry.layout ? plain.data() : values.data();
    const size_t columns = q.rows;
    for (size_t r = 0; r < p.rows; ++r) {
      for (size_t c = 0; c < columns; ++c) {
        float sum = 0;
        for (size_t k = 0; k < p.columns; ++k) sum += p.row(r)[k] * q.row(c)[k];
        to[r * columns + c] = sum;
      }
    }
    if (entry.layout) reorder(Layout(entry.layout->type()), to, *entry.layout, values.data());
  }

  size_t rank_;
  std::vector<Entry> entries_;
};

const RegisterCompressor kPowerSgd({{"powersgd",
                                     "matrices as products of two narrow ones (PowerSGD)",
                                     {{"rank", 2, 1, 256, true, "columns of the narrow ones"}, copy_every(128)}},
                                    [](const PartOptions& options) -> std::unique_ptr<Compressor> {
                                      return std::make_unique<PowerSgd>(static_cast<size_t>(options.at("rank")));
                                    }});

}  // namespace

}  // namespace thalweg::sync
