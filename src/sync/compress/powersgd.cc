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

/// One of the two narrow matrices, column by column: each lies in one piece, as loops over many elements want it.
struct Columns {
  size_t rank = 0, length = 0;
  std::vector<float> values;
  Columns() = default;
  Columns(size_t number, size_t each) : rank(number), length(each), values(number * each) {}
  float* column(size_t k) { return values.data() + k * length; }
  const float* column(size_t k) const { return values.data() + k * length; }
};

/// Products of fewer elements stay on the calling thread.
constexpr size_t kThreadedElements = size_t{1} << 16U;
/// Columns of a matrix that stay in the first-level cache with those of the narrow ones.
constexpr size_t kBlock = 1024;

float dot(const float* a, const float* b, size_t count) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

/// `to` = m q, m being to.length x q.length by rows.
void multiply(const float* m, const Columns& q, Columns& to) {
  const size_t columns = q.length;
#pragma omp parallel for schedule(static) if (to.length * columns >= kThreadedElements)
  for (size_t r = 0; r < to.length; ++r) {
    for (size_t k = 0; k < q.rank; ++k) to.column(k)[r] = dot(m + r * columns, q.column(k), columns);
  }
}

/// `to` = m transposed times p, m being p.length x to.length by rows.
void multiply_transposed(const float* m, const Columns& p, Columns& to) {
  const size_t columns = to.length, blocks = (columns + kBlock - 1) / kBlock;
#pragma omp parallel for schedule(static) if (p.length * columns >= kThreadedElements)
  for (size_t block = 0; block < blocks; ++block) {
    const size_t begin = block * kBlock, count = std::min(kBlock, columns - begin);
    for (size_t k = 0; k < p.rank; ++k) {
      float* sums = to.column(k) + begin;
      std::fill_n(sums, count, 0.0F);
      for (size_t r = 0; r < p.length; ++r) {
        const float* row = m + r * columns + begin;
        const float factor = p.column(k)[r];
#pragma omp simd
        for (size_t c = 0; c < count; ++c) sums[c] += factor * row[c];
      }
    }
  }
}

/// `to` = p q transposed, by rows.
void multiply_out(const Columns& p, const Columns& q, float* to) {
  const size_t columns = q.length;
#pragma omp parallel for schedule(static) if (p.length * columns >= kThreadedElements)
  for (size_t r = 0; r < p.length; ++r) {
    float* row = to + r * columns;
    std::fill_n(row, columns, 0.0F);
    for (size_t k = 0; k < p.rank; ++k) {
      const float factor = p.column(k)[r];
      const float* column = q.column(k);
#pragma omp simd
      for (size_t c = 0; c < columns; ++c) row[c] += factor * column[c];
    }
  }
}

double product(const Columns& p, size_t j, size_t k) {
  const float *a = p.column(j), *b = p.column(k);
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t r = 0; r < p.length; ++r) sum += static_cast<double>(a[r]) * static_cast<double>(b[r]);
  return sum;
}

/// Gram and Schmidt's way, column by column. A column that the others span already becomes zero.
void orthonormalise(Columns& p) {
  for (size_t k = 0; k < p.rank; ++k) {
    const double before = product(p, k, k);
    float* column = p.column(k);
    for (size_t j = 0; j < k; ++j) {
      const auto share = static_cast<float>(product(p, j, k));
      const float* other = p.column(j);
#pragma omp simd
      for (size_t r = 0; r < p.length; ++r) column[r] -= share * other[r];
    }
    const double squares = product(p, k, k);
    // Rounding leaves something of a column that depends on the others.
    constexpr double kDependent = 1e-10;
    const auto scale = squares > kDependent * before ? static_cast<float>(1.0 / std::sqrt(squares)) : 0.0F;
    for (size_t r = 0; r < p.length; ++r) column[r] *= scale;
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
    multiply(plain(gradient, whole), entry.q, entry.p);
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
    multiply_transposed(plain(gradient, residual().next(gradient)), entry.p, entry.q);
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
    multiply_transposed(plain(gradient, kept), entry.p, entry.q);
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
      Columns p(entry.p.rank, entry.p.length), q(entry.q.rank, entry.q.length);
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
    Columns p, q;
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
    entry.p = Columns(rank_, rows);
    entry.q = Columns(rank_, columns);
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

  static void copy_out(const Columns& matrix, void* code) {
    std::memcpy(code, matrix.values.data(), matrix.values.size() * sizeof(float));
  }

  /// In the layout of the gradient; `plain` is room for it where that is another.
  static void product_into(const Entry& entry, const Columns& p, const Columns& q, std::vector<float>& plain,
                           std::span<float> values) {
    float* to = entry.layout ? plain.data() : values.data();
    multiply_out(p, q, to);
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
