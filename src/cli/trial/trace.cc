// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/trial/trace.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "thalweg/error.h"

namespace thalweg::cli {
namespace {

using Json = nlohmann::json;

constexpr const char* kPrefix = "worker-";
/// Steps of small models take less than a millisecond each, and nobody plots them all.
constexpr double kBetweenRecords = 0.05;
constexpr double kBetweenLooks = 0.02;

Json to_json(const TraceRecord& record) {
  return {{"time", record.time},        {"step", record.step},       {"loss", record.loss},
          {"samples", record.samples},  {"sent", record.sent_bytes}, {"data_wait", record.data_wait},
          {"exchange", record.exchange}};
}

void add_line(WorkerTrace& trace, const std::string& line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return;
  if (json.contains("scores")) {
    trace.scores = json["scores"].get<std::map<std::string, double>>();
    trace.chosen = json.value("chosen", "");
    return;
  }
  // A loss that is not finite is null.
  const auto number = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_number() ? found->get<double>() : std::nan("");
  };
  trace.records.push_back({number("time"), json.value("step", int64_t{0}), number("loss"), number("samples"),
                           number("sent"), number("data_wait"), number("exchange")});
}

}  // namespace

double trace_clock() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

TraceWriter::TraceWriter(Options options, std::shared_ptr<comm::Group> group)
    : options_(std::move(options)), group_(std::move(group)) {
  const auto path = options_.folder / (kPrefix + std::to_string(options_.worker) + "-" + std::to_string(::getpid()));
  file_.open(path);
  TW_REQUIRE(file_.good(), "cannot write the trace ", path.string());
}

void TraceWriter::on_start(const TrainState& state) {
  now_.step = state.progress.iteration;
  group_epoch_ = group_->epoch();
  step_began_ = trace_clock();
  write(step_began_);
}

void TraceWriter::on_wait() { look_for_stop(trace_clock()); }

void TraceWriter::on_step(const TrainState& state) {
  const double exchange_before = now_.exchange, data_wait_before = now_.data_wait;
  count(state);
  double now = trace_clock();
  const double waited = now_.exchange - exchange_before + now_.data_wait - data_wait_before;
  dawdle(std::max(0.0, now - step_began_ - waited));
  now = step_began_ = trace_clock();
  if (now - written_at_ >= kBetweenRecords) write(now);
  look_for_stop(now);
}

/// It counts for nothing, but takes as long as any other.
void TraceWriter::on_measured_step(const TrainState& state) {
  const double waited_before = measured_wait_;
  measured_wait_ = (state.data_wait_share + state.exchange_wait_share) * state.epoch_seconds;
  dawdle(std::max(0.0, trace_clock() - step_began_ - std::max(0.0, measured_wait_ - waited_before)));
  step_began_ = trace_clock();
  look_for_stop(step_began_);
}

void TraceWriter::on_end(const TrainState& /*state*/) { write(trace_clock()); }

void TraceWriter::count(const TrainState& state) {
  now_.step = state.progress.iteration;
  losses_ += state.progress.loss;
  ++steps_;
  const int64_t epoch = state.progress.epoch - (state.progress.epoch_ended ? 1 : 0);
  if (std::exchange(epoch_, epoch) != epoch) epoch_samples_ = epoch_data_wait_ = epoch_exchange_ = 0;
  const auto rest = [](double& counted, double whole) { return std::max(0.0, whole - std::exchange(counted, whole)); };
  now_.data_wait += rest(epoch_data_wait_, state.data_wait_share * state.epoch_seconds);
  now_.exchange += rest(epoch_exchange_, state.exchange_wait_share * state.epoch_seconds);
  const double samples = rest(epoch_samples_, state.samples_per_second * state.epoch_seconds);
  // Where all know how many samples a step of all had, that is what they count; and nobody's share is as large as that.
  const double members = std::max(1, group_->size());
  const bool of_all = samples > std::ceil(static_cast<double>(options_.batch_size) / members) + 0.5;
  now_.samples += of_all ? samples / members : samples;
}

void TraceWriter::count_bytes() {
  if (group_->epoch() != group_epoch_) {
    group_epoch_ = group_->epoch();
    sent_before_ += std::exchange(sent_in_epoch_, 0);
  }
  sent_in_epoch_ = static_cast<double>(group_->communicator().traffic().sent_bytes);
  now_.sent_bytes = sent_before_ + sent_in_epoch_;
}

void TraceWriter::look_for_stop(double now) {
  if (now - looked_at_ < kBetweenLooks) return;
  looked_at_ = now;
  if (::access((options_.folder / "stop").c_str(), F_OK) == 0) stop();
}

void TraceWriter::dawdle(double computed) {
  constexpr double kAtOnce = 0.1;
  for (double left = computed * (options_.slowness - 1); left > 0; left -= kAtOnce) {
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left, kAtOnce)));
    look_for_stop(trace_clock());
  }
}

void TraceWriter::write(double now) {
  count_bytes();
  now_.time = written_at_ = now;
  if (steps_ > 0) now_.loss = losses_ / static_cast<double>(steps_);
  losses_ = 0;
  steps_ = 0;
  file_ << to_json(now_).dump() << std::endl;
}

void TraceWriter::write_result(const Scores& scores, const std::string& chosen) {
  file_ << Json{{"scores", scores}, {"chosen", chosen}}.dump() << std::endl;
}

void TraceReader::read() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const auto [found, is_new] = files_.try_emplace(name, traces_.size(), 0);
    if (is_new) {
      const size_t dash = name.rfind('-');
      const size_t begin = std::string(kPrefix).size();
      traces_.push_back({std::stoi(name.substr(begin, dash - begin)), std::stoi(name.substr(dash + 1)), {}, {}});
    }
    auto& [index, offset] = found->second;
    std::ifstream file(folder_ / name);
    file.seekg(offset);
    for (std::string line; std::getline(file, line) && !file.eof();) {
      offset += static_cast<std::streamoff>(line.size()) + 1;
      add_line(traces_[index], line);
    }
  }
}

}  // namespace thalweg::cli
