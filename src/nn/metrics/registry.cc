// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "thalweg/metrics.h"

namespace thalweg::metrics {
namespace {

/// Options given by name; remembers which were asked for, so that the others can be reported.
class OptionReader {
 public:
  OptionReader(const std::string& metric, const std::map<std::string, double>& given)
      : metric_(metric), unread_(given) {}

  double number(const char* option, double otherwise) {
    known_ += (known_.empty() ? "" : ", ") + std::string(option);
    const auto found = unread_.find(option);
    if (found == unread_.end()) return otherwise;
    const double value = found->second;
    unread_.erase(found);
    return value;
  }

  int64_t integer(const char* option, int64_t otherwise) {
    constexpr double kLargest = 1e15;
    const double value = number(option, static_cast<double>(otherwise));
    TW_REQUIRE(std::fabs(value) <= kLargest && value == std::floor(value), "metric ", metric_, ": ", option, " is ",
               value, ", must be a whole number");
    return static_cast<int64_t>(value);
  }

  void require_all_read() const {
    TW_REQUIRE(unread_.empty(), "metric ", metric_, " has no option \"", unread_.begin()->first,
               known_.empty() ? "\"; it has none" : "\"; it has ", known_);
  }

 private:
  const std::string& metric_;
  std::map<std::string, double> unread_;
  std::string known_;
};

ClassificationOptions classification_options(OptionReader& options) {
  ClassificationOptions result;
  result.num_classes = options.integer("num_classes", result.num_classes);
  result.threshold = options.number("threshold", result.threshold);
  if (options.integer("macro", 0) != 0) result.average = Average::kMacro;
  if (options.integer("micro", 0) != 0) result.average = Average::kMicro;
  return result;
}

template <MetricPtr (*kMake)()>
MetricPtr make_plain(OptionReader&) {
  return kMake();
}

template <MetricPtr (*kMake)(int64_t, int64_t)>
MetricPtr make_ranking(OptionReader& options) {
  const int64_t k = options.integer("k", 10);
  return kMake(k, options.integer("candidates", 0));
}

template <MetricPtr (*kMake)(const ClassificationOptions&)>
MetricPtr make_classification(OptionReader& options) {
  return kMake(classification_options(options));
}

MetricPtr make_accuracy(OptionReader&) { return accuracy(); }

MetricPtr make_top_k(OptionReader& options) { return top_k_accuracy(options.integer("k", 5)); }

MetricPtr make_binary(OptionReader& options) { return binary_accuracy(options.number("threshold", 0.5)); }

struct Entry {
  const char* name;
  MetricPtr (*make)(OptionReader& options);
};

constexpr Entry kMetrics[] = {
    {"accuracy", make_accuracy},
    {"top_k_accuracy", make_top_k},
    {"binary_accuracy", make_binary},
    {"loss", make_plain<mean_loss>},
    {"mae", make_plain<mean_absolute_error>},
    {"mse", make_plain<mean_squared_error>},
    {"rmse", make_plain<root_mean_squared_error>},
    {"mape", make_plain<mean_absolute_percentage_error>},
    {"r2", make_plain<coefficient_of_determination>},
    {"auc", make_plain<auc>},
    {"pr_auc", make_plain<pr_auc>},
    {"mean_average_precision", make_plain<mean_average_precision>},
    {"hit_ratio", make_ranking<hit_ratio>},
    {"ndcg", make_ranking<ndcg>},
    {"precision", make_classification<precision>},
    {"recall", make_classification<recall>},
    {"f1", make_classification<f1>},
};

}  // namespace

MetricPtr on_output(MetricPtr metric, size_t output, size_t target, const std::string& name) {
  TW_REQUIRE(metric != nullptr, "there is no metric to put on output ", output);
  metric->name_ = name.empty() ? metric->name_ + "." + std::to_string(output) : name;
  metric->output_ = output;
  metric->target_ = target;
  return metric;
}

MetricPtr make_metric(const std::string& name, const std::map<std::string, double>& options) {
  std::string known;
  for (const Entry& entry : kMetrics) {
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
    if (name != entry.name) continue;
    OptionReader reader(name, options);
    MetricPtr metric = entry.make(reader);
    reader.require_all_read();
    return metric;
  }
  raise("unknown metric \"", name, "\"; there are ", known);
}

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kMetrics) names.emplace_back(entry.name);
  return names;
}

}  // namespace thalweg::metrics
