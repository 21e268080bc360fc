// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/layout.h"
#include "sync/part_options.h"
#include "thalweg/comm.h"
#include "thalweg/safetensors.h"
#include "thalweg/tensor.h"

namespace thalweg::sync {

class Feedback;
class GradientExchange;
using Bytes = std::vector<std::byte>;

/// The gradient of one parameter, as compressors see it.
struct GradientShape {
  /// Of the parameter.
  std::string name;
  /// As it lies in memory, padding included.
  size_t floats = 0;
  /// How it lies there; none: one row.
  std::optional<Layout> layout = std::nullopt;
};

/// Which step the codes that follow belong to. Random numbers follow from it, so that a step that is repeated draws the
/// same again.
struct CodeStep {
  int64_t number = 0;
  int worker = 0;
  int workers = 1;
};

/// A short form in which gradients travel. It belongs to one worker; what it leaves out of a gradient it keeps, and
/// adds to those of later steps (error feedback): what was sent and what is kept together are the sum of all gradients.
/// A change of what is kept counts once the step is complete (`commit`).
class Compressor {
 public:
  virtual ~Compressor() = default;

  /// The gradients that follow are these, by number. What is kept of parameters that were there before stays.
  virtual void use(const std::vector<GradientShape>& gradients) = 0;
  virtual void begin_step(const CodeStep& step) { step_ = step; }
  /// The step was completed, by all workers; or by nobody, and what was kept before it is kept again.
  virtual void commit() {}
  virtual void roll_back() {}

  /// What is kept, in a form that does not depend on this CPU: empty for a compressor that keeps nothing. Values of
  /// several workers may be added up in one.
  virtual std::vector<NamedTensor> state() const { return {}; }
  virtual void add_state(const std::vector<NamedTensor>& /*state*/) {}
  virtual void clear_state() {}
  /// What it has left out of gradients; null if it keeps nothing.
  virtual Feedback* kept() { return nullptr; }
  /// What exchanges gradients in its codes, with this compressor, which is `self`.
  virtual std::unique_ptr<GradientExchange> into_exchange(std::unique_ptr<Compressor> self) = 0;
  // Codes that one worker sends to one server, which decodes them without a word from the other workers.

  /// Appends the code of a gradient.
  virtual void encode_alone(size_t gradient, std::span<const float> values, Bytes& code) = 0;
  /// Adds what it stands for to `sum`, while other threads encode. Throws Error if it is no code of such a gradient.
  virtual void decode_alone(size_t gradient, std::span<const std::byte> code, std::span<float> sum) const = 0;
  /// No such code of this gradient is longer.
  virtual size_t most_bytes_alone(size_t gradient) const = 0;
  /// Bytes in which each element is coded by itself, so that a part of a code stands for that part of the gradient; 0
  /// if only the whole code says anything.
  virtual size_t bytes_per_element() const { return 0; }

  /// Appends what a server needs of a code for its part of the gradient's elements; adds what that stands for to them,
  /// of a gradient of so many in all.
  virtual void append_part(size_t gradient, std::span<const std::byte> code, comm::Part part, Bytes& message) const;
  virtual void decode_part(size_t gradient, std::span<const std::byte> code, comm::Part part, size_t floats,
                           std::span<float> sum) const;

  /// True if it has a momentum of its own, which the optimiser then must not have.
  virtual bool applies_momentum() const { return false; }

 protected:
  const CodeStep& step() const { return step_; }

 private:
  CodeStep step_;
};

/// Codes are arrays of numbers, and the sum of several workers' codes stands for the sum of their gradients.
class SummedCompressor : public Compressor {
 public:
  std::unique_ptr<GradientExchange> into_exchange(std::unique_ptr<Compressor> self) final;
  virtual DType dtype() const = 0;
  /// Sums over all workers that a gradient takes, one after the other.
  virtual int rounds() const { return 1; }
  virtual size_t code_elements(size_t gradient, int round) const = 0;
  /// The code of the first round.
  virtual void encode(size_t gradient, std::span<const float> values, void* code) = 0;
  /// That of a later round, which follows from the sum of the one before.
  virtual void encode_next(size_t /*gradient*/, int /*round*/, const void* /*sum*/, void* /*code*/) {}
  /// True if what a worker keeps of this gradient is its own less an equal share of the sum; otherwise only the worker
  /// itself knows what its code stands for.
  virtual bool shares_sum(size_t /*gradient*/) const { return false; }
  /// After the last one.
  virtual void decode(size_t gradient, const void* sum, std::span<float> values) = 0;
};

/// Codes are bytes that only their own compressor understands: each worker gets those of all others, and adds up what
/// they stand for.
class GatheredCompressor : public Compressor {
 public:
  std::unique_ptr<GradientExchange> into_exchange(std::unique_ptr<Compressor> self) final;
  /// True if `encode` needs the largest of the numbers that `measure` has given at all workers.
  virtual bool agrees() const { return false; }
  virtual float measure(size_t /*gradient*/, std::span<const float> /*values*/) { return 0; }
  /// Appends the code of a gradient.
  virtual void encode(size_t gradient, std::span<const float> values, float agreed, Bytes& code) = 0;
  /// No code of this gradient is longer.
  virtual size_t most_bytes(size_t gradient) const = 0;
  /// Adds what a worker's code stands for to `sum`. Throws Error if it is no code of such a gradient: it comes from
  /// somebody else.
  virtual void decode_add(size_t gradient, std::span<const std::byte> code, std::span<float> sum) const = 0;

  void encode_alone(size_t gradient, std::span<const float> values, Bytes& code) final {
    encode(gradient, values, agrees() ? measure(gradient, values) : 0.0F, code);
  }
  void decode_alone(size_t gradient, std::span<const std::byte> code, std::span<float> sum) const final {
    decode_add(gradient, code, sum);
  }
  size_t most_bytes_alone(size_t gradient) const final { return most_bytes(gradient); }
};

/// Null for "none". Throws Error for a name or option that there is not (compressors() of thalweg/sync.h lists them).
std::unique_ptr<Compressor> make_compressor(const std::string& name, const PartOptions& options);

/// The value of an option of that compressor, set or usual; 0 if it has none of that name.
double compressor_option(const std::string& compressor, const std::string& option, const PartOptions& options);

}  // namespace thalweg::sync
