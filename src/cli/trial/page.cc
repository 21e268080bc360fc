// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/trial/page.h"

#include <algorithm>
#include <functional>
#include <sstream>

#include "cli/trial/plot.h"

namespace thalweg::cli {
namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --text: #1b1f24; --soft: #59636e; --line: #d8dee4; --page: #ffffff; --stripe: #f6f8fa; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6edf3; --soft: #9198a1; --line: #30363d; --page: #0d1117; --stripe: #151b23; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); margin: 0 auto;
  max-width: 1340px; padding: 24px; }
h1 { font-size: 24px; margin: 0 0 4px; }
h2 { font-size: 17px; margin: 28px 0 8px; }
p, dl { color: var(--soft); margin: 4px 0; max-width: 90ch; }
dl { display: flex; flex-wrap: wrap; gap: 4px 24px; max-width: none; }
dl div { display: flex; gap: 6px; }
dt::after { content: ":"; }
dd { margin: 0; color: var(--text); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { padding: 4px 12px; text-align: right; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; white-space: normal; vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; }
tbody tr:nth-child(even) { background: var(--stripe); }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(540px, 100%), 1fr)); gap: 20px 28px; }
.plots h2 { margin: 12px 0 4px; }
.plots > * { min-width: 0; }
svg { width: 100%; height: auto; display: block; }
svg text { font: 12px system-ui, sans-serif; fill: var(--soft); }
.grid { stroke: var(--line); stroke-width: 1; }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
.line:hover { stroke-width: 4; }
.p0 { fill: #2da44e; } .p1 { fill: #8c959f; } .p2 { fill: #d4a72c; } .p3 { fill: #0969da; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 16px; margin: 8px 0; }
.legend label { display: inline-flex; align-items: center; gap: 5px; cursor: pointer; }
.legend i, td i { display: inline-block; width: 18px; height: 4px; border-radius: 2px; vertical-align: middle; }
td i { margin-right: 8px; }
.legend span { display: inline-flex; gap: 6px; }
button { font: inherit; color: inherit; background: var(--stripe); border: 1px solid var(--line); border-radius: 6px;
  padding: 1px 10px; cursor: pointer; }
.hidden { display: none; }
ul { margin: 4px 0; padding-left: 20px; }
)";

constexpr const char* kScript = R"(
var boxes = document.querySelectorAll('.legend input');
function show(box) {
  document.querySelectorAll('svg .' + box.value).forEach(function (line) {
    line.classList.toggle('hidden', !box.checked);
  });
}
boxes.forEach(function (box) { box.onchange = function () { show(box); }; });
document.querySelectorAll('.legend button').forEach(function (button) {
  button.onclick = function () {
    boxes.forEach(function (box) { box.checked = button.value === 'all'; show(box); });
  };
});
)";

std::string swatch(size_t number) { return "<i style=\"background:" + colour_of(number) + "\"></i>"; }

std::string setting_of(const TrialReport& report) {
  std::string text = "<dl>";
  for (const auto& [name, value] : report.setting) {
    text += "<div><dt>" + escaped(name) + "</dt><dd>" + escaped(value) + "</dd></div>";
  }
  return text + "</dl>\n";
}

std::string html_of(const TrialTable& table) {
  std::string text = "<div class=\"wide\"><table><thead><tr>";
  for (const std::string& header : table.headers) text += "<th>" + escaped(header) + "</th>";
  text += "</tr></thead>\n<tbody>\n";
  for (size_t row = 0; row < table.rows.size(); ++row) {
    text += "<tr>";
    for (size_t i = 0; i < table.rows[row].size(); ++i) {
      text += "<td>" + (i == 0 ? swatch(table.schemes[row]) : "") + escaped(table.rows[row][i]) + "</td>";
    }
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string legend_of(const TrialReport& report, const TrialTable& table) {
  std::string text =
      "<div class=\"legend\"><span><button value=\"all\">all</button> <button value=\"none\">none</button></span>\n";
  for (const size_t i : table.schemes) {
    text += "<label><input type=\"checkbox\" checked=\"checked\" value=\"s" + std::to_string(i) + "\"/>" + swatch(i) +
            escaped(report.schemes[i].scheme) + "</label>\n";
  }
  return text + "</div>\n";
}

std::string curves(const TrialReport& report, const PlotAxis& x,
                   const std::function<double(const TrialPoint&)>& value) {
  std::vector<PlotLine> lines;
  for (size_t i = 0; i < report.schemes.size(); ++i) {
    if (!report.schemes[i].ran()) continue;
    PlotLine line{report.schemes[i].scheme, i, {}};
    for (const TrialPoint& point : report.schemes[i].points) line.points.emplace_back(value(point), point.loss);
    lines.push_back(std::move(line));
  }
  return line_plot(x, {"loss", true}, lines);
}

std::string shares_of(const TrialReport& report, const TrialTable& table) {
  std::vector<PlotBar> bars;
  for (const size_t i : table.schemes) {
    const SchemeSummary& scheme = report.schemes[i];
    bars.push_back({scheme.scheme, i, {scheme.computing, scheme.waiting_for_data, scheme.waiting, scheme.exchanging}});
  }
  return bar_plot({"computing", "waiting for data", "waiting for others", "exchanging"}, bars);
}

std::string plots_of(const TrialReport& report, const TrialTable& table) {
  std::ostringstream out;
  const auto figure = [&](const char* title, const std::string& picture) {
    out << "<section><h2>" << title << "</h2>\n" << picture << "</section>\n";
  };
  out << legend_of(report, table) << "<div class=\"plots\">\n";
  figure("Loss over time", curves(report, {"seconds", false}, [](const TrialPoint& point) { return point.seconds; }));
  figure("Loss over bytes sent",
         curves(report, {"bytes sent by all workers", true}, [](const TrialPoint& point) { return point.sent_bytes; }));
  figure("Loss over samples",
         curves(report, {"samples of all workers", true}, [](const TrialPoint& point) { return point.samples; }));
  figure("Where the time went", shares_of(report, table));
  out << "</div>\n";
  return out.str();
}

std::string others_of(const TrialReport& report) {
  std::string text;
  for (const SchemeSummary& scheme : report.schemes) {
    if (scheme.ran()) continue;
    text += "<li><b>" + escaped(scheme.scheme) + "</b> " +
            escaped(scheme.skipped.empty() ? "failed: " + scheme.failure : "was left out: " + scheme.skipped) +
            "</li>\n";
  }
  return text.empty() ? "" : "<h2>Not compared</h2>\n<ul>\n" + text + "</ul>\n";
}

std::string words_of(const TrialReport& report) {
  std::string text =
      "<p>Losses are those of training, averaged over the workers and the last few moments. Exchanging is what even "
      "the "
      "worker that waits least spends in exchanges; what the others spend there beyond that is waiting for others.";
  if (report.target && !report.target_was_given) {
    text += " The loss that times are told for is the one that half of the schemes came to.";
  }
  const bool has_kill = std::any_of(report.schemes.begin(), report.schemes.end(),
                                    [](const SchemeSummary& scheme) { return scheme.kill.has_value(); });
  if (has_kill) {
    text +=
        " A kill costs the work that is missing at the end, in seconds at the pace before; less than nothing where the "
        "others are quicker without the worker.";
  }
  return text + "</p>\n";
}

}  // namespace

std::string page_of(const TrialReport& report) {
  const TrialTable table = table_of(report);
  std::ostringstream out;
  out << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      << "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      << "<title>Training schemes compared</title>\n<style>" << kStyle << "</style>\n</head>\n<body>\n"
      << "<h1>Training schemes compared</h1>\n"
      << setting_of(report);
  if (!table.rows.empty()) {
    out << "<h2>Results</h2>\n" << html_of(table) << words_of(report) << plots_of(report, table);
  }
  out << others_of(report) << "<script>" << kScript << "</script>\n</body>\n</html>\n";
  return out.str();
}

}  // namespace thalweg::cli
