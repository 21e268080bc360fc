// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Support vector machines: SVMRegressor and SVMClassifier.
#include <algorithm>
#include <cmath>

#include "base/limits.h"
#include "ops/ml/scores.h"

namespace thalweg {
namespace {

using ml::floats;
using ml::Transform;

/// The kernel of a support vector machine.
class SupportKernel {
 public:
  explicit SupportKernel(const HostContext& call) : type_(call.text("kernel_type", "LINEAR")) {
    const std::vector<float> parameters = floats(call, "kernel_params");
    if (parameters.size() >= 3) {
      gamma_ = parameters[0];
      shift_ = parameters[1];
      degree_ = parameters[2];
    }
    TW_REQUIRE(type_ == "LINEAR" || type_ == "POLY" || type_ == "RBF" || type_ == "SIGMOID", "unknown kernel_type '",
               type_, "'");
  }

  float operator()(const float* a, const float* b, int64_t count) const {
    if (type_ == "RBF") {
      double sum = 0;
      for (int64_t i = 0; i < count; ++i) {
        const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
        sum += difference * difference;
      }
      return static_cast<float>(std::exp(-static_cast<double>(gamma_) * sum));
    }
    const float plain = ml::product(a, b, count);
    if (type_ == "POLY") return std::pow(gamma_ * plain + shift_, degree_);
    return type_ == "SIGMOID" ? std::tanh(gamma_ * plain + shift_) : plain;
  }

 private:
  std::string type_;
  float gamma_ = 0, shift_ = 0, degree_ = 0;
};

std::vector<Tensor> svm_regressor(const HostContext& call) {
  const ml::Rows x = ml::rows_of(call.input(0));
  const SupportKernel kernel(call);
  const std::vector<float> factors = floats(call, "coefficients"), vectors = floats(call, "support_vectors");
  const std::vector<float> rho = floats(call, "rho");
  const int64_t supports = call.integer("n_supports", 0);
  TW_REQUIRE(rho.size() == 1, "there are ", rho.size(), " numbers rho, not 1");
  const bool linear = supports == 0;
  const size_t expected = linear ? static_cast<size_t>(x.width) : static_cast<size_t>(supports);
  TW_REQUIRE(supports >= 0 && factors.size() == expected &&
                 (linear || (x.width > 0 && vectors.size() / static_cast<size_t>(x.width) == expected &&
                             vectors.size() % static_cast<size_t>(x.width) == 0)),
             "coefficients or support_vectors do not fit ", x.width, " features");
  const bool one_class = call.flag("one_class", false);
  const Transform transform = ml::transform_of(call);
  std::vector<std::vector<float>> rows;
  for (int64_t i = 0; i < x.count; ++i) {
    require_time();
    float sum = rho[0];
    if (linear) {
      sum += kernel(x.row(i), factors.data(), x.width);
    } else {
      for (int64_t s = 0; s < supports; ++s) {
        sum += factors[static_cast<size_t>(s)] * kernel(x.row(i), vectors.data() + s * x.width, x.width);
      }
    }
    if (one_class) sum = sum > 0 ? 1.0F : -1.0F;
    std::vector<float> scores{sum};
    ml::apply(transform, scores);
    rows.push_back(std::move(scores));
  }
  return {ml::stacked(rows, 1)};
}

/// Two classes against each other: the probability of the first for a decision value, by Platt's sigmoid.
float first_wins(float decision, float slope, float shift) {
  constexpr float kLeast = 1e-7F;
  return std::clamp(1 - ml::logistic(decision * slope + shift), kLeast, 1 - kLeast);
}

/// Probabilities of all classes from those of pairs, by the second method of Wu, Lin and Weng: they minimise the sum of
/// (wins[j][i] p[i] - wins[i][j] p[j])^2, one at a time.
std::vector<float> coupled(const std::vector<std::vector<float>>& wins) {
  const size_t count = wins.size();
  std::vector<float> p(count, 1 / static_cast<float>(count));
  const auto q = [&](size_t i, size_t j) {
    if (i != j) return -wins[j][i] * wins[i][j];
    float sum = 0;
    for (size_t k = 0; k < count; ++k) sum += k == i ? 0.0F : wins[k][i] * wins[k][i];
    return sum;
  };
  const auto row = [&](size_t i) {
    float sum = 0;
    for (size_t j = 0; j < count; ++j) sum += q(i, j) * p[j];
    return sum;
  };
  const auto whole = [&] {
    float sum = 0;
    for (size_t i = 0; i < count; ++i) sum += p[i] * row(i);
    return sum;
  };
  const float tolerance = 0.005F / static_cast<float>(count);
  for (size_t round = 0; round < std::max<size_t>(100, count); ++round) {
    const float all = whole();
    float error = 0;
    for (size_t i = 0; i < count; ++i) error = std::max(error, std::fabs(row(i) - all));
    if (error < tolerance) break;
    for (size_t i = 0; i < count; ++i) {
      const float change = (whole() - row(i)) / q(i, i);
      p[i] += change;
      for (float& each : p) each /= 1 + change;
    }
  }
  return p;
}

class SupportClassifier {
 public:
  SupportClassifier(const HostContext& call, int64_t width, int64_t classes)
      : kernel_(call),
        width_(width),
        classes_(classes),
        per_class_(call.integers("vectors_per_class")),
        factors_(floats(call, "coefficients")),
        vectors_(floats(call, "support_vectors")),
        rho_(floats(call, "rho")),
        slopes_(floats(call, "prob_a")),
        shifts_(floats(call, "prob_b")) {
    constexpr int64_t kMost = 1 << 24;
    for (const int64_t own : per_class_) {
      TW_REQUIRE(own >= 0 && own <= kMost, "a class has ", own, " support vectors");
      starts_.push_back(supports_);
      supports_ += own;
    }
    TW_REQUIRE(!factors_.empty() && classes >= 1 && classes <= 4096 && width > 0, "there are no coefficients");
    if (supports_ == 0) {
      TW_REQUIRE(factors_.size() == static_cast<size_t>(classes * width) && !rho_.empty(), "coefficients do not fit ",
                 classes, " classes of ", width, " features");
      return;
    }
    const auto pairs = static_cast<size_t>(classes * (classes - 1) / 2);
    TW_REQUIRE(per_class_.size() == static_cast<size_t>(classes) && rho_.size() >= pairs &&
                   factors_.size() == static_cast<size_t>((classes - 1) * supports_) &&
                   vectors_.size() == static_cast<size_t>(supports_ * width),
               "coefficients, support_vectors or rho do not fit ", classes, " classes of ", width, " features");
    TW_REQUIRE(slopes_.empty() || (slopes_.size() >= pairs && shifts_.size() >= pairs), "prob_a and prob_b do not fit ",
               classes, " classes");
  }

  void require_width(int64_t width) const {
    TW_REQUIRE(width == width_, "there are ", width, " features where the support vectors have ", width_);
  }
  bool gives_probabilities() const { return supports_ > 0 && !slopes_.empty(); }

  /// The scores of a row, and the number of the class that wins.
  std::vector<float> scores(const float* row, int64_t& winner) const {
    if (supports_ == 0) {
      std::vector<float> scores;
      for (int64_t c = 0; c < classes_; ++c)
        scores.push_back(rho_[0] + kernel_(row, factors_.data() + c * width_, width_));
      winner = ml::largest(scores);
      return scores;
    }
    std::vector<float> votes(static_cast<size_t>(classes_));
    std::vector<float> decisions = decide(row, votes);
    winner = ml::largest(votes);
    if (!gives_probabilities()) return decisions;
    std::vector<std::vector<float>> wins(votes.size(), std::vector<float>(votes.size()));
    size_t pair = 0;
    for (size_t i = 0; i < wins.size(); ++i) {
      for (size_t j = i + 1; j < wins.size(); ++j, ++pair) {
        wins[i][j] = first_wins(decisions[pair], slopes_[pair], shifts_[pair]);
        wins[j][i] = 1 - wins[i][j];
      }
    }
    return coupled(wins);
  }

 private:
  /// Of each pair of classes which one a row is rather in; positive: in the first.
  std::vector<float> decide(const float* row, std::vector<float>& votes) const {
    std::vector<float> near;
    for (int64_t s = 0; s < supports_; ++s) near.push_back(kernel_(row, vectors_.data() + s * width_, width_));
    const auto sum = [&](int64_t own, int64_t against) {
      const int64_t start = starts_[static_cast<size_t>(own)];
      return ml::product(factors_.data() + against * supports_ + start, near.data() + start,
                         per_class_[static_cast<size_t>(own)]);
    };
    std::vector<float> decisions;
    for (int64_t i = 0; i < classes_; ++i) {
      for (int64_t j = i + 1; j < classes_; ++j) {
        decisions.push_back(rho_[decisions.size()] + sum(i, j - 1) + sum(j, i));
        votes[static_cast<size_t>(decisions.back() > 0 ? i : j)] += 1;
      }
    }
    return decisions;
  }

  SupportKernel kernel_;
  int64_t width_, classes_, supports_ = 0;
  std::vector<int64_t> per_class_, starts_;
  std::vector<float> factors_, vectors_, rho_, slopes_, shifts_;
};

std::vector<Tensor> svm_classifier(const HostContext& call) {
  const ml::Rows x = ml::rows_of(call.input(0));
  const ml::Labels labels(call, "classlabels_ints");
  const auto classes = static_cast<int64_t>(std::max<size_t>(labels.size(), 1));
  const auto made = call.made_once<SupportClassifier>([&] { return SupportClassifier(call, x.width, classes); });
  const SupportClassifier& machine = *made;
  machine.require_width(x.width);
  const Transform transform = ml::transform_of(call);
  std::vector<std::vector<float>> rows;
  std::vector<int64_t> winners;
  for (int64_t i = 0; i < x.count; ++i) {
    require_time();
    int64_t winner = 0;
    std::vector<float> scores = machine.scores(x.row(i), winner);
    // One decision between two classes is the score of the second.
    if (scores.size() == 1 && labels.size() == 2) scores = {-scores[0], scores[0]};
    if (!machine.gives_probabilities()) ml::apply(transform, scores);
    winners.push_back(winner);
    rows.push_back(std::move(scores));
  }
  const int64_t width = rows.empty() ? classes : static_cast<int64_t>(rows[0].size());
  return {labels.of(winners), ml::stacked(rows, width)};
}

const RegisterHost kSvmRegressor("ai.onnx.ml.SVMRegressor", svm_regressor);
const RegisterHost kSvmClassifier("ai.onnx.ml.SVMClassifier", svm_classifier);

}  // namespace
}  // namespace thalweg
