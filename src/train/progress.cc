// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "train/progress.h"

#include <unistd.h>

#include <algorithm>

namespace thalweg {
namespace {

std::string format(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

std::string out_of(int64_t done, int64_t all) {
  return all > 0 ? std::to_string(done) + "/" + std::to_string(all) : std::to_string(done);
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

std::string progress_text(const TrainState& state) {
  return "epoch " + out_of(state.progress.epoch + 1, state.epochs) + "  step " +
         out_of(state.batch, state.batches_per_epoch) + "  loss " + format("%.4f", state.epoch_loss) + "  " +
         format("%.0f samples/s", state.samples_per_second) + "  data wait " +
         format("%.0f%%", 100 * state.data_wait_share) + "  ETA " + clock_text(seconds_left(state));
}

std::string epoch_text(const TrainState& state) {
  std::string text =
      "epoch " + out_of(state.progress.epoch, state.epochs) + "  loss " + format("%.4f", state.epoch_loss);
  for (const auto& [name, value] : state.validation) text += "  validation " + name + " " + format("%.4f", value);
  return text + "  lr " + format("%.3g", state.learning_rate) + "  " +
         format("%.0f samples/s", state.samples_per_second) + "  data wait " +
         format("%.0f%%", 100 * state.data_wait_share) + "  " + clock_text(state.epoch_seconds);
}

ProgressPrinter::ProgressPrinter(std::FILE* out, bool terminal) : status_(out, terminal) {}

void ProgressPrinter::on_step(const TrainState& state) {
  // The line of the epoch follows and says it all.
  if (!state.progress.epoch_ended && status_.due()) status_.update(progress_text(state));
}

void ProgressPrinter::on_epoch(const TrainState& state) { status_.line(epoch_text(state)); }

void ProgressPrinter::on_checkpoint(const TrainState& /*state*/, const std::string& path) {
  status_.line("checkpoint " + path);
}

void ProgressPrinter::on_end(const TrainState& state) {
  if (status_.is_live()) status_.line(progress_text(state));
}

void ProgressPrinter::on_message(const std::string& text) { status_.line(text); }

std::shared_ptr<Callback> make_progress_printer(ShowProgress show) {
  if (show == ShowProgress::kNone) return nullptr;
  const bool terminal = show == ShowProgress::kAuto && ::isatty(STDERR_FILENO) == 1;
  return std::make_shared<ProgressPrinter>(stderr, terminal);
}

}  // namespace thalweg
