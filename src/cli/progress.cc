// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <algorithm>

#include "cli/text_table.h"

namespace thalweg::cli {

std::string progress_text(const std::string& what, double done, double all, double seconds) {
  constexpr size_t kWidth = 24;
  if (all <= 0) return what + "  " + format("%.0f", done) + "  " + clock_text(seconds);
  const double share = std::clamp(done / all, 0.0, 1.0);
  std::string bar(static_cast<size_t>(share * kWidth), '#');
  bar.resize(kWidth, ' ');
  std::string text = what + " [" + bar + "] " + format("%3.0f%%", 100 * share) + "  " + format("%.0f", done) + "/" +
                     format("%.0f", all);
  if (share > 0) text += "  " + clock_text(seconds / share - seconds) + " left";
  return text;
}

void Progress::update(double done, double all) {
  if (!shown_ || !status_.due()) return;
  const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
  status_.update(progress_text(what_, done, all, seconds));
}

}  // namespace thalweg::cli
