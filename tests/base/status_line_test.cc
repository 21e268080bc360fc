// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "base/status_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "support/patience.h"

namespace thalweg::testing {
namespace {

/// What was written to a file that stands for a terminal.
class LiveLine : public ::testing::Test {
 protected:
  std::string written() {
    std::fflush(file_.get());
    std::rewind(file_.get());
    std::string text;
    for (int letter = 0; (letter = std::fgetc(file_.get())) != EOF;) text += static_cast<char>(letter);
    return text;
  }
  void wait_until_due() const {
    ASSERT_TRUE(eventually([&] { return status_.due(); }));
  }

  std::unique_ptr<std::FILE, decltype(&std::fclose)> file_{std::tmpfile(), std::fclose};
  StatusLine status_{file_.get(), true};
};

TEST_F(LiveLine, LinesAboveItDoNotPutOffTheNextUpdate) {
  status_.update("step 1");
  wait_until_due();
  status_.erase();
  status_.redraw("step 1");
  EXPECT_TRUE(status_.due());
  EXPECT_TRUE(status_.is_live());
  EXPECT_EQ(written(), "\rstep 1\r      \r\rstep 1");
}

}  // namespace
}  // namespace thalweg::testing
