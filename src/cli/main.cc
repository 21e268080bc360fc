// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
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

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const auto& command : commands()) names.push_back(command->describe().name);
  return names;
}

/// The first of the arguments that looks like an option and is none of the command's; "" if all are known. What follows
/// "--" belongs to another program.
std::string unknown_option(const CLI::App& command, const std::vector<std::string>& arguments,
                           std::vector<std::string>& known) {
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    const std::string name = argument.substr(0, argument.find('='));
    if (name.starts_with("--") && std::find(known.begin(), known.end(), name) == known.end()) return name;
  }
  return "";
}

/// What to say about arguments that could not be parsed.
std::string parse_error_text(const CLI::App& program, const CLI::ParseError& error,
                             const std::vector<std::string>& arguments) {
  const auto chosen = program.get_subcommands();
  if (!chosen.empty()) {
    const std::string name = chosen.front()->get_name();
    std::vector<std::string> known;
    const std::string unknown = unknown_option(*chosen.front(), arguments, known);
    if (!unknown.empty()) {
      return name + ": there is no option " + unknown + "; near: " + nearest_names(unknown, known) + " ('thalweg " +
             name + " --help' lists the options)";
    }
    return name + ": " + error.what() + " ('thalweg " + name + " --help' lists the options)";
  }
  const std::vector<std::string> names = command_names();
  if (arguments.empty()) return "which command? One of " + join(names, ", ") + " ('thalweg --help' says more)";
  return "there is no command " + printable(arguments[0]) + "; near: " + nearest_names(arguments[0], names) +
         " ('thalweg --help' lists all)";
}

/// What follows the program's name; "help COMMAND" stands for "COMMAND --help".
std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  if (arguments.empty() || arguments[0] != "help") return arguments;
  arguments.erase(arguments.begin());
  const std::vector<std::string> names = command_names();
  const bool known = arguments.empty() || std::find(names.begin(), names.end(), arguments[0]) != names.end();
  if (known) arguments.emplace_back("--help");
  return arguments;
}

int main(int argc, char** argv) {
  CLI::App program("Trains models and runs ONNX models on CPUs, and tells what it makes of them.", "thalweg");
  program.require_subcommand(1);
  program.set_version_flag("--version", TW_VERSION);
  program.footer("'thalweg COMMAND --help' tells about a command.\n\nExit codes: 0 done, 1 failed, 2 wrong usage");
  for (const auto& command : commands()) command->add_to(program);
  const std::vector<std::string> arguments = arguments_of(argc, argv);
  try {
    // CLI11 takes them from the end.
    program.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    // --help and --version arrive here too.
    if (error.get_exit_code() == 0) return program.exit(error);
    return fail(kWrongUsage, parse_error_text(program, error, arguments));
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
