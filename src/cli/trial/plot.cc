// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/trial/plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <sstream>

namespace thalweg::cli {
namespace {

constexpr double kWidth = 640, kHeight = 360, kLeft = 62, kRight = 12, kTop = 10, kBottom = 46;

template <typename... Values>
std::string print(const char* format, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

/// The values of an axis, and where they lie on it.
class Scale {
 public:
  /// Over values that there are; logarithmic only if all of them are above 0.
  Scale(const PlotAxis& axis, double least, double most) : logarithmic_(axis.logarithmic && least > 0) {
    if (!(most > least)) most = least + (least != 0 ? std::abs(least) : 1);
    begin_ = to_axis(least);
    end_ = to_axis(most);
    if (!logarithmic_) begin_ = std::min(begin_, 0.0);
  }
  /// From 0 to 1.
  double place(double value) const { return (to_axis(value) - begin_) / (end_ - begin_); }
  bool shows(double value) const { return std::isfinite(value) && (!logarithmic_ || value > 0); }

  /// Values that are round, and lie in its bounds.
  std::vector<double> ticks() const { return logarithmic_ ? logarithmic_ticks() : even_ticks(); }

 private:
  double to_axis(double value) const { return logarithmic_ ? std::log10(value) : value; }

  std::vector<double> even_ticks() const {
    const double rough = (end_ - begin_) / 5, unit = std::pow(10.0, std::floor(std::log10(rough)));
    const double times = rough / unit;
    const double step = unit * (times < 1.5 ? 1 : times < 3.5 ? 2 : times < 7.5 ? 5 : 10);
    std::vector<double> values;
    for (double value = std::ceil(begin_ / step) * step; value <= end_ + 1e-9 * step; value += step) {
      values.push_back(std::abs(value) < 1e-9 * step ? 0 : value);
    }
    return values;
  }
  std::vector<double> logarithmic_ticks() const {
    // Over several decades only their ends have room.
    const std::vector<double> parts = end_ - begin_ > 3 ? std::vector<double>{1} : std::vector<double>{1, 2, 5};
    std::vector<double> values;
    for (double decade = std::floor(begin_); decade <= end_; ++decade) {
      for (const double part : parts) {
        const double value = part * std::pow(10.0, decade);
        if (place(value) >= -1e-9 && place(value) <= 1 + 1e-9) values.push_back(value);
      }
    }
    return values;
  }

  bool logarithmic_;
  double begin_ = 0, end_ = 1;
};

double x_of(double share) { return kLeft + share * (kWidth - kLeft - kRight); }
double y_of(double share) { return kHeight - kBottom - share * (kHeight - kTop - kBottom); }

Scale scale_of(const PlotAxis& axis, const std::vector<PlotLine>& lines, bool is_x) {
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const PlotLine& line : lines) {
    for (const auto& [x, y] : line.points) {
      const double value = is_x ? x : y;
      if (!std::isfinite(value) || (axis.logarithmic && value <= 0)) continue;
      least = std::min(least, value);
      most = std::max(most, value);
    }
  }
  if (!(least <= most)) least = most = 1;
  return {axis, least, most};
}

std::string frame(const PlotAxis& x, const PlotAxis& y, const Scale& across, const Scale& up) {
  std::ostringstream out;
  for (const double tick : across.ticks()) {
    const double at = x_of(across.place(tick));
    out << print("<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", at, at, y_of(0), y_of(1))
        << print("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", at, y_of(0) + 16) << short_number(tick)
        << "</text>\n";
  }
  for (const double tick : up.ticks()) {
    const double at = y_of(up.place(tick));
    out << print("<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", x_of(0), x_of(1), at, at)
        << print("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">", x_of(0) - 6, at + 4) << short_number(tick)
        << "</text>\n";
  }
  out << print("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", x_of(0.5), kHeight - 10) << escaped(x.title)
      << "</text>\n"
      << print("<text transform=\"translate(14 %.1f) rotate(-90)\" text-anchor=\"middle\">", y_of(0.5))
      << escaped(y.title) << "</text>\n";
  return out.str();
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    switch (letter) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&#39;"; break;
      default:
        // Other control characters are allowed in no document.
        if (static_cast<unsigned char>(letter) >= 0x20 || letter == '\n' || letter == '\t') result += letter;
    }
  }
  return result;
}

std::string colour_of(size_t index) {
  // Each hue is the golden angle from the last, and lightness changes after a round.
  const double hue = std::fmod(215 + 137.508 * static_cast<double>(index), 360);
  constexpr int kLightness[] = {45, 58, 36};
  return print("hsl(%.0f 68%% %d%%)", hue, kLightness[index / 7 % 3]);
}

std::string short_number(double value) {
  struct Unit {
    double size;
    const char* name;
  };
  for (const Unit& unit : {Unit{1e12, "T"}, Unit{1e9, "G"}, Unit{1e6, "M"}, Unit{1e3, "k"}}) {
    if (std::abs(value) >= unit.size * 0.9995) return print("%.3g%s", value / unit.size, unit.name);
  }
  return print("%.3g", value);
}

std::string line_plot(const PlotAxis& x, const PlotAxis& y, const std::vector<PlotLine>& lines) {
  const Scale across = scale_of(x, lines, true), up = scale_of(y, lines, false);
  std::ostringstream out;
  out << print("<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"", kWidth, kHeight) << escaped(y.title)
      << " over " << escaped(x.title) << "\">\n"
      << frame(x, y, across, up);
  for (const PlotLine& line : lines) {
    std::string path;
    for (const auto& [right, height] : line.points) {
      if (!across.shows(right) || !up.shows(height)) continue;
      path += print("%s%.1f %.1f", path.empty() ? "M" : "L", x_of(across.place(right)), y_of(up.place(height)));
    }
    if (path.empty()) continue;
    out << "<path class=\"line s" << line.number << "\" stroke=\"" << colour_of(line.number) << "\" d=\"" << path
        << "\"><title>" << escaped(line.name) << "</title></path>\n";
  }
  out << "</svg>\n";
  return out.str();
}

std::string bar_plot(const std::vector<std::string>& parts, const std::vector<PlotBar>& bars) {
  constexpr double kRow = 22, kNames = 130, kLegend = 30;
  const double height = kLegend + kRow * static_cast<double>(bars.size()) + 24;
  const auto at = [&](double share) { return kNames + share * (kWidth - kNames - 40); };
  std::ostringstream out;
  out << print("<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"shares of time\">\n", kWidth, height);
  double right = kNames;
  for (size_t i = 0; i < parts.size(); ++i) {
    out << print("<rect class=\"p%zu\" x=\"%.1f\" y=\"6\" width=\"12\" height=\"12\"/>", i, right)
        << print("<text x=\"%.1f\" y=\"16\">", right + 17) << escaped(parts[i]) << "</text>\n";
    right += 34 + 6.6 * static_cast<double>(parts[i].size());
  }
  double top = kLegend;
  for (const PlotBar& bar : bars) {
    out << "<g class=\"s" << bar.number << "\">"
        << print("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">", kNames - 8, top + 14) << escaped(bar.name)
        << "</text>";
    double from = 0;
    for (size_t i = 0; i < bar.shares.size(); ++i) {
      const double to = std::min(1.0, from + bar.shares[i]);
      out << print("<rect class=\"p%zu\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"16\"><title>", i, at(from),
                   top + 2, at(to) - at(from))
          << escaped(parts[i]) << print(" %.0f%%</title></rect>", 100 * bar.shares[i]);
      from = to;
    }
    out << "</g>\n";
    top += kRow;
  }
  for (const int percent : {0, 25, 50, 75, 100}) {
    out << print("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%d%%</text>", at(percent / 100.0), top + 16,
                 percent);
  }
  out << "\n</svg>\n";
  return out.str();
}

}  // namespace thalweg::cli
