// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace thalweg::cli {
namespace {

std::vector<std::unique_ptr<Command>>& registry() {
  static std::vector<std::unique_ptr<Command>> all;
  return all;
}

}  // namespace

RegisterCommand::RegisterCommand(const std::function<std::unique_ptr<Command>()>& make) {
  auto& all = registry();
  all.push_back(make());
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a->describe().name < b->describe().name; });
}

const std::vector<std::unique_ptr<Command>>& commands() { return registry(); }

void Command::add_to(CLI::App& program) {
  const CommandDescription description = describe();
  CLI::App* options = program.add_subcommand(description.name, description.summary);
  options->footer("Example:\n  " + description.example + "\n\nExit codes: 0 done, 1 failed, 2 wrong usage");
  options->add_flag("--json", json_, "Print JSON for programs in place of text for people");
  options->add_flag("--progress", progress_, "Tell on stderr how far the work is, even if that is no terminal");
  add_options(*options);
}

bool Command::shows_progress() const { return progress_ || ::isatty(STDERR_FILENO) == 1; }

void Command::print(const Json& report, const std::function<std::string(const Json&)>& text) const {
  // Names in models and files need not be UTF-8; JSON must be.
  write_stdout(json_ ? report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n" : text(report));
}

void write_stdout(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  TW_REQUIRE(written, "cannot write to stdout: ", std::strerror(errno));
}

}  // namespace thalweg::cli
