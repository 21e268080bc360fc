// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "train/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>

namespace thalweg {
namespace {

constexpr auto kLiveInterval = std::chrono::milliseconds(100);
constexpr auto kLineInterval = std::chrono::seconds(5);

std::string format(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

std::string out_of(int64_t done, int64_t all) {
  return all > 0 ? std::to_string(done) + "/" + std::to_string(all) : std::to_string(done);
}

size_t terminal_width(std::FILE* out) {
  constexpr size_t kUsual = 80;
  winsize size{};
  return ::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

/// The rest of the run if its length is known, otherwise of the epoch; by the pace of the epoch so far.
double seconds_left(const TrainState& state) {
  if (state.batch == 0) return 0;
  const double per_batch = state.epoch_seconds / static_cast<double>(state.batch);
  const int64_t epochs_after = std::max<int64_t>(state.epochs - state.progress.epoch - 1, 0);
  return per_batch *
         static_cast<double>(state.batches_per_epoch - state.batch + epochs_after * state.batches_per_epoch);
}

}  // namespace

std::string clock_text(double seconds) {
  const auto total = static_cast<int64_t>(std::llround(std::max(seconds, 0.0)));
  char text[32];
  if (total >= 3600) {
    std::snprintf(text, sizeof text, "%lld:%02d:%02d", static_cast<long long>(total / 3600),
                  static_cast<int>(total / 60 % 60), static_cast<int>(total % 60));
  } else {
    std::snprintf(text, sizeof text, "%d:%02d", static_cast<int>(total / 60), static_cast<int>(total % 60));
  }
  return text;
}

std::string progress_text(const TrainState& state) {
  return "epoch " + out_of(state.progress.epoch + 1, state.epochs) + "  step " +
         out_of(state.batch, state.batches_per_epoch) + "  loss " + format("%.4f", state.epoch_loss) + "  " +
         format("%.0f samples/s", state.samples_per_second) + "  data wait " +
         format("%.0f%%", 100 * state.data_wait_share) + "  ETA " + clock_text(seconds_left(state));
}

ProgressPrinter::ProgressPrinter(std::FILE* out, bool terminal)
    : out_(out), terminal_(terminal), next_(terminal ? Clock::time_point() : Clock::now() + kLineInterval) {}

void ProgressPrinter::live(const std::string& text) {
  const std::string shown = text.substr(0, terminal_width(out_) - 1);
  const std::string blank(live_width_ > shown.size() ? live_width_ - shown.size() : 0, ' ');
  std::fprintf(out_, "\r%s%s", shown.c_str(), blank.c_str());
  std::fflush(out_);
  live_width_ = shown.size();
}

void ProgressPrinter::line(const std::string& text) {
  const std::string blank(live_width_ > text.size() ? live_width_ - text.size() : 0, ' ');
  std::fprintf(out_, "%s%s%s\n", live_width_ > 0 ? "\r" : "", text.c_str(), blank.c_str());
  std::fflush(out_);
  live_width_ = 0;
}

void ProgressPrinter::on_step(const TrainState& state) {
  // The line of the epoch follows and says it all.
  if (state.progress.epoch_ended || Clock::now() < next_) return;
  if (terminal_) {
    live(progress_text(state));
  } else {
    line(progress_text(state));
  }
  next_ = Clock::now() + (terminal_ ? Clock::duration(kLiveInterval) : Clock::duration(kLineInterval));
}

void ProgressPrinter::on_epoch(const TrainState& state) {
  std::string text =
      "epoch " + out_of(state.progress.epoch, state.epochs) + "  loss " + format("%.4f", state.epoch_loss);
  for (const auto& [name, value] : state.validation) text += "  validation " + name + " " + format("%.4f", value);
  text += "  lr " + format("%.3g", state.learning_rate) + "  " + format("%.0f samples/s", state.samples_per_second) +
          "  data wait " + format("%.0f%%", 100 * state.data_wait_share) + "  " + clock_text(state.epoch_seconds);
  line(text);
}

void ProgressPrinter::on_checkpoint(const TrainState& /*state*/, const std::string& path) {
  line("checkpoint " + path);
}

void ProgressPrinter::on_end(const TrainState& state) {
  if (live_width_ > 0) line(progress_text(state));
}

void ProgressPrinter::on_message(const std::string& text) { line(text); }

std::shared_ptr<Callback> make_progress_printer(ShowProgress show) {
  if (show == ShowProgress::kNone) return nullptr;
  const bool terminal = show == ShowProgress::kAuto && ::isatty(STDERR_FILENO) == 1;
  return std::make_shared<ProgressPrinter>(stderr, terminal);
}

}  // namespace thalweg
