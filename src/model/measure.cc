// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "model/measure.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

namespace thalweg {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// What one thread that calls the model has seen.
struct Stream {
  std::vector<double> milliseconds;
  std::exception_ptr failure;
};

class Measuring {
 public:
  Measuring(const Model& model, const std::vector<Tensor>& inputs, const MeasureOptions& options)
      : model_(model), inputs_(inputs), options_(options) {}

  Measurement run() {
    Measurement result;
    auto begin = Clock::now();
    // Each stream gets its own memory in its first run.
    on_all_streams([&](Stream& /*stream*/, bool /*first*/) { model_.predict(inputs_); });
    result.first_run_milliseconds = milliseconds_since(begin);
    begin = Clock::now();
    const std::vector<Stream> streams = on_all_streams([&](Stream& stream, bool first) { call(stream, first, begin); });
    result.seconds = milliseconds_since(begin) / 1e3;
    std::vector<double> all;
    for (const Stream& stream : streams) all.insert(all.end(), stream.milliseconds.begin(), stream.milliseconds.end());
    result.runs = static_cast<int64_t>(all.size());
    result.latency = latency_of(std::move(all));
    return result;
  }

 private:
  std::vector<Stream> on_all_streams(const std::function<void(Stream&, bool)>& body) {
    std::vector<Stream> streams(static_cast<size_t>(options_.streams));
    const auto guarded = [&](Stream& stream) {
      try {
        body(stream, &stream == streams.data());
      } catch (...) {
        stream.failure = std::current_exception();
      }
    };
    std::vector<std::thread> threads;
    for (size_t i = 1; i < streams.size(); ++i) threads.emplace_back([&, i] { guarded(streams[i]); });
    guarded(streams[0]);
    for (std::thread& thread : threads) thread.join();
    for (const Stream& stream : streams) {
      if (stream.failure) std::rethrow_exception(stream.failure);
    }
    return streams;
  }

  void call(Stream& stream, bool first, Clock::time_point begin) {
    for (int run = 0; run < options_.min_runs || milliseconds_since(begin) < options_.seconds * 1e3; ++run) {
      const auto start = Clock::now();
      model_.predict(inputs_);
      stream.milliseconds.push_back(milliseconds_since(start));
      if (first && options_.progress) options_.progress(milliseconds_since(begin) / 1e3);
    }
  }

  const Model& model_;
  const std::vector<Tensor>& inputs_;
  const MeasureOptions& options_;
};

}  // namespace

Latency latency_of(std::vector<double> milliseconds) {
  TW_REQUIRE(!milliseconds.empty(), "there is no run to take the latency of");
  std::sort(milliseconds.begin(), milliseconds.end());
  const auto count = static_cast<double>(milliseconds.size());
  // The smallest value that at least this share of all does not exceed.
  const auto percentile = [&](double share) {
    return milliseconds[static_cast<size_t>(std::max(std::ceil(share * count) - 1, 0.0))];
  };
  Latency latency;
  latency.mean = std::accumulate(milliseconds.begin(), milliseconds.end(), 0.0) / count;
  latency.p50 = percentile(0.5);
  latency.p90 = percentile(0.9);
  latency.p99 = percentile(0.99);
  latency.min = milliseconds.front();
  latency.max = milliseconds.back();
  return latency;
}

Measurement measure(const Model& model, const std::vector<Tensor>& inputs, const MeasureOptions& options) {
  TW_REQUIRE(options.streams > 0 && options.min_runs > 0, "measuring needs at least one stream and one run");
  return Measuring(model, inputs, options).run();
}

}  // namespace thalweg
