// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "groups.h"

#include <atomic>
#include <cstdlib>

#include "thalweg/sync.h"

namespace thalweg::python {
namespace {

/// Of every process that `thalweg launch` starts (comm::options_from_environment).
constexpr const char* kRendezvousVariable = "THALWEG_RENDEZVOUS";

/// Whether this process has been in a group, and so knows how to train in one.
std::atomic<bool> has_joined = false;

/// Null once it is closed.
struct RendezvousHandle {
  std::unique_ptr<comm::Rendezvous> rendezvous;
};

/// Makes members of this process leave their group, whatever they wait for.
struct Cancellation {
  std::shared_ptr<std::atomic<bool>> flag = std::make_shared<std::atomic<bool>>(false);
};

RendezvousHandle make_rendezvous(int size, const std::string& secret, bool tls) {
  if (size < 1) raise_input_error("a group needs at least 1 worker, not ", size);
  comm::RendezvousOptions options;
  options.secret = secret;
  options.tls = tls;
  options.min_size = size;
  options.max_size = size;
  options.log = [](const std::string&) {};
  return {std::make_unique<comm::Rendezvous>(options)};
}

std::string address_of(const RendezvousHandle& handle) {
  if (!handle.rendezvous) throw InputError("this rendezvous has been closed: make another one");
  return handle.rendezvous->address();
}

SchemeHandle join(const std::string& scheme, const std::optional<std::string>& rendezvous, const std::string& secret,
                  bool tls, const Cancellation* cancellation, const std::string& compression,
                  const std::map<std::string, double>& options_by_name) {
  sync::SchemeOptions options;
  options.name = scheme;
  options.compression = compression;
  options.options = options_by_name;
  // Before the group forms, in which others would wait for this one.
  sync::check_scheme(options);
  comm::GroupOptions group;
  if (!rendezvous.has_value()) group = comm::options_from_environment();
  if (rendezvous.has_value()) group.rendezvous = *rendezvous;
  if (rendezvous.has_value()) group.secret = secret;
  group.tls |= tls;
  if (cancellation != nullptr) group.cancelled = cancellation->flag;
  SchemeHandle handle{sync::make_scheme(options, comm::Group::join(group))};
  has_joined = true;
  return handle;
}

std::map<std::string, std::string> schemes() {
  std::map<std::string, std::string> result;
  for (const sync::Preset& preset : sync::presets()) result[preset.name] = preset.description;
  return result;
}

/// `close`, and `with` around it. Closing ends threads that may wait for the interpreter.
template <typename Handle, typename Member>
void def_close(nb::class_<Handle>& type, Member member, const char* doc) {
  const auto close = [member](Handle& self) {
    const nb::gil_scoped_release release;
    (self.*member).reset();
  };
  type.def("close", close, doc)
      .def("__enter__", [](nb::handle self) { return nb::borrow(self); })
      .def(
          "__exit__", [close](Handle& self, const nb::args&) { close(self); }, "exception"_a);
}

}  // namespace

std::shared_ptr<Scheme> open_scheme(const SchemeHandle& handle) {
  if (!handle.scheme) throw InputError("this worker has left its group: the scheme is closed; join a group again");
  return handle.scheme;
}

void warn_if_launched_alone() {
  static bool told = false;
  if (told || has_joined || std::getenv(kRendezvousVariable) == nullptr) return;
  told = true;
  constexpr const char* kText =
      "'thalweg launch' has started this process, but it trains without a group: each worker trains a model of its "
      "own. "
      "Give Estimator or Trainer scheme=thalweg.groups.join()";
  if (PyErr_WarnEx(PyExc_RuntimeWarning, kText, 1) != 0) throw nb::python_error();
}

void bind_groups(nb::module_& module) {
  auto m = module.def_submodule("groups", "Groups of processes that train one model.");
  nb::class_<SchemeHandle> scheme(module, "Scheme", "How workers train one model together, for Trainer and Estimator.");
  scheme.def_prop_ro(
      "choice",
      [](const SchemeHandle& self) -> std::optional<nb::dict> {
        const auto choice = self.scheme ? sync::choice_of(*self.scheme) : std::nullopt;
        if (!choice) return std::nullopt;
        nb::dict result;
        result["name"] = choice->scheme.name;
        result["compression"] = choice->scheme.compression;
        result["options"] = choice->scheme.options;
        result["why"] = choice->why;
        return result;
      },
      "What the scheme \"auto\" has become, and why; None of other schemes, and before it has chosen.");
  def_close(scheme, &SchemeHandle::scheme, "Leaves the group once no trainer uses it any more.");
  nb::class_<RendezvousHandle> rendezvous(m, "Rendezvous", "Where the members of a group meet.");
  rendezvous
      .def(
          "__init__",
          [](RendezvousHandle* self, int size, const std::string& secret, bool tls) {
            new (self) RendezvousHandle(make_rendezvous(size, secret, tls));
          },
          "size"_a, "secret"_a, "tls"_a = false, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("address", address_of);
  def_close(rendezvous, &RendezvousHandle::rendezvous, "Nobody can join any more.");
  nb::class_<Cancellation>(m, "Cancellation", "By which another thread makes who has joined with it leave the group.")
      .def(nb::init<>())
      .def(
          "cancel", [](const Cancellation& self) { self.flag->store(true); },
          "Whatever the member waits for ends with an Error within a second.")
      .def_prop_ro("cancelled", [](const Cancellation& self) { return self.flag->load(); });
  m.def("make_secret", comm::make_secret, "A secret nobody can guess, for one job.");
  m.def(
      "join", join, "scheme"_a = sync::SchemeOptions{}.name, "rendezvous"_a = nb::none(), "secret"_a = "",
      "tls"_a = false, "cancellation"_a.none() = nb::none(), "compression"_a = sync::SchemeOptions{}.compression,
      "options"_a = std::map<std::string, double>{}, nb::call_guard<nb::gil_scoped_release>(),
      "Joins a group and returns the scheme for Trainer; without a rendezvous, that of `thalweg launch`. With tls all "
      "that goes over the network is encrypted, as the rendezvous must have been told too. `thalweg schemes` lists "
      "schemes, compressions and their options.");
  m.def("schemes", schemes, "What each scheme does, by name.");
}

}  // namespace thalweg::python
