// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "train/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TrainState some_state() {
  TrainState state;
  state.progress.epoch = 1;
  state.epochs = 3;
  state.batch = 50;
  state.batches_per_epoch = 100;
  state.epoch_seconds = 10;
  state.epoch_loss = 0.25;
  state.samples_per_second = 1234.4;
  state.data_wait_share = 0.021;
  state.validation = {{"accuracy", 0.875}};
  return state;
}

/// What a printer writes.
template <typename Use>
std::string printed(bool terminal, Use use) {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* out = ::open_memstream(&text, &size);
  {
    ProgressPrinter printer(out, terminal);
    use(printer);
  }
  std::fclose(out);
  std::string result(text, size);
  std::free(text);
  return result;
}

TEST(Progress, ClockText) {
  EXPECT_EQ(clock_text(0), "0:00");
  EXPECT_EQ(clock_text(65.4), "1:05");
  EXPECT_EQ(clock_text(3725), "1:02:05");
}

TEST(Progress, TellsWhatIsLeftOfTheRun) {
  // 0.2 s a batch; 50 left in this epoch, 100 in the third.
  EXPECT_EQ(progress_text(some_state()), "epoch 2/3  step 50/100  loss 0.2500  1234 samples/s  data wait 2%  ETA 0:30");
}

TEST(Progress, ATerminalHasOneLiveLine) {
  const std::string text = printed(true, [](ProgressPrinter& printer) { printer.on_step(some_state()); });
  EXPECT_EQ(text.front(), '\r');
  EXPECT_THAT(text, Not(HasSubstr("\n")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(Progress, ALiveLineIsCoveredByWhatFollows) {
  const std::string text = printed(true, [](ProgressPrinter& printer) {
    printer.on_step(some_state());
    printer.on_message("short");
  });
  const size_t at = text.find("\rshort");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(text.size() - at, 1 + progress_text(some_state()).size() + 1);
}

TEST(Progress, ALogHasOnlyText) {
  const std::string text = printed(false, [](ProgressPrinter& printer) {
    for (int i = 0; i < 1000; ++i) printer.on_step(some_state());
    printer.on_epoch(some_state());
    printer.on_end(some_state());
  });
  EXPECT_THAT(text, Not(HasSubstr("\r")));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_THAT(text, HasSubstr("validation accuracy 0.8750"));
}

}  // namespace
}  // namespace thalweg::testing
