// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// TfIdfVectorizer: counts of n-grams of words or numbers.
#include <algorithm>
#include <map>

#include "base/limits.h"
#include "graph/host_op.h"
#include "thalweg/stored_types.h"

namespace thalweg {
namespace {

constexpr int64_t kMostGram = 64;
constexpr int64_t kMostSkips = 1 << 20;

/// Words are numbers: their place in the pool, or -1.
struct Pool {
  std::map<std::vector<int64_t>, size_t> grams;  ///< to the place among ngram_indexes
  std::map<std::string, int64_t> words;
};

/// The pool lists all grams of one word, then those of two, ...; `begins` says where each length begins.
template <typename Word>
void fill(Pool& pool, const std::vector<Word>& listed, const std::vector<int64_t>& begins, int64_t shortest,
          int64_t longest, const std::function<int64_t(const Word&)>& number) {
  size_t gram = 0;
  for (size_t n = 1; n <= begins.size(); ++n) {
    const int64_t begin = begins[n - 1];
    const int64_t end = n < begins.size() ? begins[n] : static_cast<int64_t>(listed.size());
    const auto length = static_cast<int64_t>(n);
    TW_REQUIRE(begin >= 0 && begin <= end && end <= static_cast<int64_t>(listed.size()) && (end - begin) % length == 0,
               "ngram_counts do not fit a pool of ", listed.size());
    for (int64_t at = begin; at < end; at += length) {
      std::vector<int64_t> words;
      for (int64_t k = 0; k < length; ++k) words.push_back(number(listed[static_cast<size_t>(at + k)]));
      if (length >= shortest && length <= longest) pool.grams.emplace(std::move(words), gram);
      ++gram;
    }
  }
}

struct Weighting {
  bool cut, weighted;
};

Weighting weighting_of(const std::string& mode) {
  TW_REQUIRE(mode == "TF" || mode == "IDF" || mode == "TFIDF", "unknown mode '", mode, "'");
  return {mode == "IDF", mode != "TF"};
}

class Vectorizer {
 public:
  explicit Vectorizer(const HostContext& call)
      : shortest_(call.integer("min_gram_length", 1)),
        longest_(call.integer("max_gram_length", 1)),
        skips_(call.integer("max_skip_count", 0)),
        indexes_(call.integers("ngram_indexes")),
        weights_(call.attrs().reals("weights")),
        weighting_(weighting_of(call.text("mode", "TF"))) {
    TW_REQUIRE(shortest_ >= 1 && longest_ >= shortest_ && longest_ <= kMostGram && skips_ >= 0 && skips_ <= kMostSkips,
               "grams of ", shortest_, " to ", longest_, " words with ", skips_, " skips");
    const std::vector<std::string> texts = call.attrs().texts("pool_strings");
    const std::vector<int64_t> begins = call.integers("ngram_counts");
    TW_REQUIRE(static_cast<int64_t>(begins.size()) <= kMostGram, "ngram_counts has ", begins.size(), " entries");
    if (texts.empty()) {
      fill<int64_t>(pool_, call.integers("pool_int64s"), begins, shortest_, longest_,
                    [](int64_t word) { return word; });
    } else {
      fill<std::string>(pool_, texts, begins, shortest_, longest_, [&](const std::string& word) {
        return pool_.words.emplace(word, static_cast<int64_t>(pool_.words.size())).first->second;
      });
    }
    TW_REQUIRE(!indexes_.empty(), "ngram_indexes are missing");
    for (const auto& [words, gram] : pool_.grams) {
      TW_REQUIRE(gram < indexes_.size(), "there are more n-grams than ngram_indexes");
    }
    for (const int64_t index : indexes_) {
      TW_REQUIRE(index >= 0 && index < kMostElements, "ngram_indexes has ", index);
    }
    width_ = *std::max_element(indexes_.begin(), indexes_.end()) + 1;
    TW_REQUIRE(weights_.empty() || weights_.size() == indexes_.size(), "there are ", weights_.size(), " weights for ",
               indexes_.size(), " n-grams");
  }

  int64_t width() const { return width_; }

  std::vector<int64_t> words_of(const Tensor& x) const {
    std::vector<int64_t> words;
    if (x.dtype() != stored::kText) {
      const Tensor numbers = x.to(DType::kI64);
      return {numbers.data<int64_t>(), numbers.data<int64_t>() + numbers.num_elements()};
    }
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const auto found = pool_.words.find(stored::texts_of(x)[i]);
      words.push_back(found != pool_.words.end() ? found->second : -1);
    }
    return words;
  }

  void row(const int64_t* words, int64_t count, float* result) const {
    std::vector<float> counts(indexes_.size(), 0.0F);
    for (int64_t n = shortest_; n <= longest_; ++n) {
      // A single word has no gaps to skip in.
      for (int64_t gap = 1; gap <= (n == 1 ? 1 : skips_ + 1); ++gap) {
        for (int64_t at = 0; at < count && (n - 1) <= (count - 1 - at) / gap; ++at) {
          std::vector<int64_t> gram;
          for (int64_t k = 0; k < n; ++k) gram.push_back(words[at + k * gap]);
          const auto found = pool_.grams.find(gram);
          if (found != pool_.grams.end()) counts[found->second] += 1.0F;
        }
        require_time();
        if (gap > count) break;
      }
    }
    for (size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] == 0) continue;
      const float value = weighting_.cut ? 1.0F : counts[i];
      const float weight = weighting_.weighted && !weights_.empty() ? static_cast<float>(weights_[i]) : 1.0F;
      result[indexes_[i]] += value * weight;
    }
  }

 private:
  int64_t shortest_, longest_, skips_;
  std::vector<int64_t> indexes_;
  std::vector<double> weights_;
  Weighting weighting_;
  Pool pool_;
  int64_t width_ = 0;
};

std::vector<Tensor> vectorize(const HostContext& call) {
  const auto made = call.made_once<Vectorizer>([&] { return Vectorizer(call); });
  const Vectorizer& vectorizer = *made;
  const Tensor& x = call.input(0);
  const int rank = x.shape().rank();
  TW_REQUIRE(rank == 1 || rank == 2, "the input must have shape [C] or [N, C], not ", x.shape());
  const int64_t rows = rank == 1 ? 1 : x.shape()[0], count = x.shape()[-1];
  const std::vector<int64_t> words = vectorizer.words_of(x);
  const int64_t width = vectorizer.width();
  Tensor result = Tensor::zeros(DType::kF32, rank == 1 ? Shape{width} : Shape{rows, width});
  for (int64_t r = 0; r < rows; ++r) vectorizer.row(words.data() + r * count, count, result.data<float>() + r * width);
  return {result};
}

const RegisterHost kTfIdf("onnx.TfIdfVectorizer", vectorize);

}  // namespace
}  // namespace thalweg
