// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <new>

#include "base/text.h"
#include "cli/command.h"
#include "job/settings.h"

namespace thalweg::cli {
namespace {

int fail(int code, const std::string& text) {
  std::fprintf(stderr, "thalweg: %s\n", text.c_str());
  return code;
}

int run(const Command& command, const std::function<int()>& body) {
  const std::string name = command.describe().name;
  try {
    return body();
  } catch (const UsageError& error) {
    return fail(kWrongUsage, name + ": " + error.what());
  } catch (const job::SettingsError& error) {
    return fail(kWrongUsage, name + ": " + error.what());
  } catch (const std::bad_alloc&) {
    return fail(kFailed, name + ": not enough memory");
  } catch (const std::exception& error) {
    return fail(kFailed, name + ": " + error.what());
  }
}

/// What to say about arguments that could not be parsed.
std::string parse_error_text(const CLI::App& program, const CLI::ParseError& error, int argc, char** argv) {
  const auto chosen = program.get_subcommands();
  if (!chosen.empty()) {
    const std::string name = chosen.front()->get_name();
    return name + ": " + error.what() + " ('thalweg " + name + " --help' lists the options)";
  }
  std::vector<std::string> names;
  for (const auto& command : commands()) names.push_back(command->describe().name);
  if (argc < 2) return "which command? One of " + join(names, ", ") + " ('thalweg --help' says more)";
  return "there is no command " + printable(argv[1]) + "; near: " + nearest_names(argv[1], names) +
         " ('thalweg --help' lists all)";
}

int main(int argc, char** argv) {
  CLI::App program("Runs ONNX models on CPUs, and tells what it makes of them.", "thalweg");
  program.require_subcommand(1);
  program.set_version_flag("--version", TW_VERSION);
  program.footer("'thalweg COMMAND --help' tells about a command.\n\nExit codes: 0 done, 1 failed, 2 wrong usage");
  for (const auto& command : commands()) command->add_to(program);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // --help and --version arrive here too.
    if (error.get_exit_code() == 0) return program.exit(error);
    return fail(kWrongUsage, parse_error_text(program, error, argc, argv));
  }
  const std::string chosen = program.get_subcommands().front()->get_name();
  for (const auto& command : commands()) {
    if (command->describe().name == chosen) return run(*command, [&] { return command->run(); });
  }
  return kWrongUsage;
}

}  // namespace
}  // namespace thalweg::cli

int main(int argc, char** argv) { return thalweg::cli::main(argc, argv); }
