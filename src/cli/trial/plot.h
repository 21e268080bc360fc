// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace thalweg::cli {

// Pictures for a page, as SVG that needs nothing else. Texts are escaped here.

/// With &, <, > and quotes as HTML and XML want them.
std::string escaped(const std::string& text);

/// Of number `index`: a colour that the next ones are far from.
std::string colour_of(size_t index);

struct PlotLine {
  std::string name;
  /// Decides on its colour and its class, "s<number>".
  size_t number = 0;
  std::vector<std::pair<double, double>> points;
};

struct PlotAxis {
  std::string title;
  bool logarithmic = false;
};

/// Lines over two axes. Points that an axis cannot show are left out.
std::string line_plot(const PlotAxis& x, const PlotAxis& y, const std::vector<PlotLine>& lines);

struct PlotBar {
  std::string name;
  size_t number = 0;
  /// Shares of a whole, in the order of the colours.
  std::vector<double> shares;
};

/// Bars side by side, one below the other, each of parts that add up to 1 at most.
std::string bar_plot(const std::vector<std::string>& parts, const std::vector<PlotBar>& bars);

/// 1234567 -> "1.2M".
std::string short_number(double value);

}  // namespace thalweg::cli
