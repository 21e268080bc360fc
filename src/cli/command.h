// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "thalweg/error.h"

namespace thalweg::cli {

/// Keeps the order in which members were added.
using Json = nlohmann::ordered_json;

/// What the program ends with.
enum ExitCode { kDone = 0, kFailed = 1, kWrongUsage = 2 };

/// The arguments make no sense, or not for this model or these data: ends the program with kWrongUsage.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// Joins the arguments with operator<< and throws UsageError.
template <typename... Parts>
[[noreturn]] void wrong_usage(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw UsageError(text.str());
}

struct CommandDescription {
  std::string name;
  std::string summary;
  /// Shown at the end of --help.
  std::string example;
};

/// One command of the program. Each has a file of its own, which ends with a RegisterCommand.
class Command {
 public:
  virtual ~Command() = default;
  virtual CommandDescription describe() const = 0;
  /// --help, --json and --progress are there already.
  virtual void add_options(CLI::App& options) = 0;
  /// Throws UsageError or Error; otherwise an ExitCode.
  virtual int run() = 0;

  void add_to(CLI::App& program);

 protected:
  bool json() const { return json_; }
  /// Whether long work should tell on stderr how far it is.
  bool shows_progress() const;
  /// The report as JSON if that was asked for, else what `text` makes of it; on stdout.
  void print(const Json& report, const std::function<std::string(const Json&)>& text) const;

 private:
  bool json_ = false;
  bool progress_ = false;
};

/// `const RegisterCommand kDoctor([] { return std::make_unique<Doctor>(); });` makes a command known at start-up.
struct RegisterCommand {
  explicit RegisterCommand(const std::function<std::unique_ptr<Command>()>& make);
};

/// In the order of their names.
const std::vector<std::unique_ptr<Command>>& commands();

/// Writes all of it to stdout; throws if that fails.
void write_stdout(const std::string& text);

}  // namespace thalweg::cli
