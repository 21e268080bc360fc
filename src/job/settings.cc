// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "job/settings.h"

#include <toml++/toml.h>

#include <set>
#include <sstream>

#include "base/text.h"

namespace thalweg::job {
namespace {

using Found = toml::node_view<const toml::node>;

/// Three years: waits that are longer, or without end, are not what clocks can count.
constexpr double kMostSeconds = 1e8;

template <typename... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw SettingsError(text.str());
}

/// Text that is no TOML value stands for itself.
toml::table parse_override(const std::string& value) {
  try {
    return toml::parse("value = " + value);
  } catch (const toml::parse_error&) {
    return toml::table{{"value", value}};
  }
}

template <typename Parse>
toml::table parsed(const std::string& name, const Parse& parse) {
  try {
    return parse();
  } catch (const toml::parse_error& error) {
    const auto line = error.source().begin.line;
    refuse(name, line > 0 ? ": line " + std::to_string(line) : std::string(), ": ", error.description());
  }
}

}  // namespace

struct Settings::Impl {
  std::string path;
  /// What messages put before an assignment.
  std::string assigning = "--set ";
  toml::table table;
  std::set<std::string> overridden;
  std::set<std::string> asked;

  void replace(const std::string& assignment) {
    const size_t equals = assignment.find('=');
    const size_t dot = assignment.find('.');
    if (equals == std::string::npos || dot == std::string::npos || dot > equals) {
      refuse(assigning, assignment, ": must be section.key=value");
    }
    const std::string section = assignment.substr(0, dot), key = assignment.substr(dot + 1, equals - dot - 1);
    toml::table value = parse_override(assignment.substr(equals + 1));
    toml::table* into = table.insert(section, toml::table()).first->second.as_table();
    if (into == nullptr) refuse(assigning, assignment, ": '", section, "' is no section of ", path);
    value["value"].visit([&](auto&& node) { into->insert_or_assign(key, node); });
    overridden.insert(section + "." + key);
  }

  const toml::node* find(const std::string& key) {
    asked.insert(key);
    return table.at_path(key).node();
  }

  /// "job.toml: line 3: train.epochs" or "--set train.epochs".
  std::string place(const std::string& key) const {
    if (overridden.count(key) > 0) return assigning + key;
    const toml::node* node = table.at_path(key).node();
    const std::string line = node != nullptr ? ": line " + std::to_string(node->source().begin.line) : "";
    return path + line + ": " + key;
  }

  template <typename T>
  T value(const std::string& key, const char* kind, T fallback) {
    const toml::node* node = find(key);
    if (node == nullptr) return fallback;
    const std::optional<T> got = node->value<T>();
    if (!got) refuse(place(key), " must be ", kind);
    return *got;
  }

  /// Calls visit(name, node) for the keys of a section that were not asked for, and asks for them.
  template <typename Visit>
  void others(const std::string& section, Visit visit) {
    const toml::table* keys = table.at_path(section).as_table();
    if (keys == nullptr) return;
    for (const auto& [name, node] : *keys) {
      const std::string key = section + "." + std::string(name.str());
      if (asked.insert(key).second) visit(std::string(name.str()), key, node);
    }
  }

  /// What to write in place of a key that nobody has asked for. All keys of its section, for a short or another name
  /// (lr, size) is near to none of those that it may mean.
  std::string keys_instead_of(const std::string& section, const std::string& key) const {
    std::vector<std::string> names;
    for (auto at = asked.lower_bound(section + "."); at != asked.end() && at->starts_with(section + "."); ++at) {
      names.push_back(at->substr(section.size() + 1));
    }
    if (!names.empty())
      return "; nearest: " + nearest_names(key, names) + "; all of " + section + ": " + join(names, ", ");
    return "; nearest: " + nearest_names(section + "." + key, {asked.begin(), asked.end()});
  }
};

Settings Settings::from_file(const std::string& path, const std::vector<std::string>& overrides) {
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  impl->table = parsed(path, [&] { return toml::parse_file(path); });
  for (const std::string& assignment : overrides) impl->replace(assignment);
  return Settings(std::move(impl));
}

Settings Settings::from_text(const std::string& text, const std::string& name) {
  auto impl = std::make_unique<Impl>();
  impl->path = name;
  impl->table = parsed(name, [&] { return toml::parse(text); });
  return Settings(std::move(impl));
}

Settings Settings::from_assignments(const std::vector<std::string>& assignments) {
  auto impl = std::make_unique<Impl>();
  impl->path = "settings";
  impl->assigning = "setting ";
  for (const std::string& assignment : assignments) impl->replace(assignment);
  return Settings(std::move(impl));
}

std::string Settings::to_text() const {
  std::ostringstream text;
  text << impl_->table << '\n';
  return text.str();
}

Settings::Settings(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Settings::Settings(Settings&&) noexcept = default;
Settings::~Settings() = default;

bool Settings::has(const std::string& key) const { return impl_->find(key) != nullptr; }

void Settings::reject(const std::string& key, const std::string& what) const { refuse(impl_->place(key), what); }

std::string Settings::text(const std::string& key, const std::string& fallback) {
  return impl_->value<std::string>(key, "text", fallback);
}

std::string Settings::text(const std::string& key) {
  if (!has(key)) refuse(impl_->path, ": '", key, "' is missing");
  return text(key, "");
}

std::vector<std::string> Settings::texts(const std::string& key, const std::vector<std::string>& fallback) {
  const toml::node* node = impl_->find(key);
  if (node == nullptr) return fallback;
  if (node->is_string()) return {*node->value<std::string>()};
  const toml::array* list = node->as_array();
  if (list == nullptr) reject(key, " must be text or a list of texts");
  std::vector<std::string> result;
  for (const toml::node& entry : *list) {
    if (!entry.is_string()) reject(key, " must be text or a list of texts");
    result.push_back(*entry.value<std::string>());
  }
  return result;
}

int64_t Settings::whole(const std::string& key, int64_t fallback, int64_t least) {
  const auto value = impl_->value<int64_t>(key, "a whole number", fallback);
  if (has(key) && value < least)
    reject(key, " is " + std::to_string(value) + ", must be at least " + std::to_string(least));
  return value;
}

double Settings::number(const std::string& key, double fallback) {
  return impl_->value<double>(key, "a number", fallback);
}

std::chrono::duration<double> Settings::seconds(const std::string& key, std::chrono::duration<double> fallback) {
  const double value = number(key, fallback.count());
  if (!(value > 0 && value <= kMostSeconds)) reject(key, " must be a number of seconds above 0");
  return std::chrono::duration<double>(value);
}

bool Settings::flag(const std::string& key, bool fallback) {
  return impl_->value<bool>(key, "true or false", fallback);
}

size_t Settings::choice(const std::string& key, const std::vector<std::string>& names, size_t fallback) {
  const std::string given = text(key, names[fallback]);
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == given) return i;
  }
  reject(key, " is '" + given + "', must be one of: " + join(names, ", "));
}

std::map<std::string, double> Settings::other_numbers(const std::string& section) {
  std::map<std::string, double> result;
  impl_->others(section, [&](const std::string& name, const std::string& key, const toml::node& node) {
    if (const auto flag = node.value<bool>(); node.is_boolean()) {
      result[name] = *flag ? 1 : 0;
    } else if (const auto number = node.value<double>()) {
      result[name] = *number;
    } else {
      reject(key, " must be a number, or true or false");
    }
  });
  return result;
}

Attributes Settings::other_attributes(const std::string& section) {
  Attributes result;
  impl_->others(section, [&](const std::string& name, const std::string& key, const toml::node& node) {
    if (node.is_boolean()) {
      result.set(name, int64_t{*node.value<bool>() ? 1 : 0});
    } else if (node.is_integer()) {
      result.set(name, *node.value<int64_t>());
    } else if (node.is_floating_point()) {
      result.set(name, *node.value<double>());
    } else if (node.is_string()) {
      result.set(name, *node.value<std::string>());
    } else {
      reject(key, " must be a number, text, or true or false");
    }
  });
  return result;
}

void Settings::finish() const {
  for (const auto& [section, node] : impl_->table) {
    const std::string name(section.str());
    const toml::table* keys = node.as_table();
    if (keys == nullptr) reject(name, " stands outside every section");
    for (const auto& [key, value] : *keys) {
      const std::string short_name(key.str()), full = name + "." + short_name;
      if (impl_->asked.count(full) == 0) {
        reject(full, " means nothing here" + impl_->keys_instead_of(name, short_name));
      }
    }
  }
}

}  // namespace thalweg::job
