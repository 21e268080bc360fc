// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <nlohmann/json.hpp>

#include "thalweg/optimize.h"

namespace thalweg {

std::string to_json(const OptimizeReport& report) {
  nlohmann::ordered_json forms = nlohmann::ordered_json::array();
  for (const FormReport& form : report.forms) {
    forms.push_back({{"form", name_of(form.form)},
                     {"milliseconds", form.milliseconds},
                     {"samples_per_second", form.samples_per_second},
                     {"bytes", form.bytes},
                     {"agreement", form.agreement.score},
                     {"max_error", form.agreement.max_error},
                     {"quantised_layers", form.quantised_layers},
                     {"kept_layers", form.kept_layers},
                     {"accepted", form.accepted},
                     {"note", form.note}});
  }
  const nlohmann::ordered_json result{{"chosen", name_of(report.forms[report.chosen].form)}, {"forms", forms}};
  return result.dump(2);
}

std::string to_table(const OptimizeReport& report) {
  std::string table = "  form           latency ms   samples/s    weights MB   agreement   max error   int8 layers\n";
  for (size_t i = 0; i < report.forms.size(); ++i) {
    const FormReport& form = report.forms[i];
    char line[160];
    std::snprintf(line, sizeof line, "%c %-12s %12.3f %11.1f %13.2f %10.2f%% %11.2e %13d",
                  i == report.chosen ? '*' : ' ', name_of(form.form), form.milliseconds, form.samples_per_second,
                  static_cast<double>(form.bytes) / 1e6, 100.0 * form.agreement.score, form.agreement.max_error,
                  form.quantised_layers);
    table += line;
    if (!form.kept_layers.empty()) table += "  " + std::to_string(form.kept_layers.size()) + " layers kept in f32";
    if (!form.note.empty()) table += "  " + form.note;
    table += "\n";
  }
  return table;
}

}  // namespace thalweg
