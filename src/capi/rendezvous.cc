// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "capi/guard.h"
#include "capi/result.h"
#include "sync/group_progress.h"
#include "thalweg/c_training.h"
#include "thalweg/comm.h"

using thalweg::capi::guarded;
namespace comm = thalweg::comm;

namespace {

/// Lines of the rendezvous until somebody asks for them; the oldest go if nobody does.
class Log {
 public:
  void add(const std::string& line) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (lines_.size() == kMostLines) lines_.pop_front();
    lines_.push_back(line);
  }
  std::deque<std::string> take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(lines_, {});
  }

 private:
  static constexpr size_t kMostLines = 10000;
  std::mutex mutex_;
  std::deque<std::string> lines_;
};

comm::RendezvousOptions options_from(const tw_rendezvous_options* given, Log& log) {
  TW_REQUIRE(given != nullptr && given->secret != nullptr, "the options or the secret is a null pointer");
  TW_REQUIRE(given->workers >= 1, "a group cannot have ", given->workers, " workers");
  comm::RendezvousOptions options;
  if (given->address != nullptr) options.address = given->address;
  options.secret = given->secret;
  options.tls = given->tls != 0;
  options.min_size = given->workers;
  options.max_size = given->workers;
  options.queued = true;
  options.wants_result = true;
  if (given->form_seconds > 0) options.form_timeout = std::chrono::duration<double>(given->form_seconds);
  options.log = [&log](const std::string& line) { log.add(line); };
  return options;
}

}  // namespace

struct tw_rendezvous {
  explicit tw_rendezvous(const tw_rendezvous_options* options)
      : rendezvous(options_from(options, log)), address(rendezvous.address()), workers(options->workers) {}
  std::string progress(const comm::Rendezvous::State& state) const {
    if (!state.giver.empty()) return state.giver + " hands the model over";
    const std::string preparation = state.finished ? "" : thalweg::sync::preparation_progress(state, workers);
    return preparation.empty() ? thalweg::sync::group_progress(state.members) : preparation;
  }
  Log log;
  comm::Rendezvous rendezvous;
  std::string address;
  int workers;
};

tw_status tw_make_secret(tw_result** result) {
  return guarded([&] {
    TW_REQUIRE(result != nullptr, "the result is a null pointer");
    *result = new tw_result{{}, comm::make_secret()};
  });
}

tw_status tw_rendezvous_start(const tw_rendezvous_options* options, tw_rendezvous** rendezvous) {
  return guarded([&] {
    TW_REQUIRE(rendezvous != nullptr, "the rendezvous is a null pointer");
    *rendezvous = new tw_rendezvous(options);
  });
}

const char* tw_rendezvous_address(const tw_rendezvous* rendezvous) { return rendezvous->address.c_str(); }

tw_status tw_rendezvous_state(tw_rendezvous* rendezvous, tw_result** result) {
  return guarded([&] {
    TW_REQUIRE(rendezvous != nullptr && result != nullptr, "the rendezvous or the result is a null pointer");
    const comm::Rendezvous::State state = rendezvous->rendezvous.state();
    nlohmann::json members = nlohmann::json::array();
    for (const comm::Rendezvous::Member& member : state.members) {
      nlohmann::json entry = nlohmann::json::parse(member.status, nullptr, false);
      if (!entry.is_object()) entry = nlohmann::json::object();
      entry["name"] = member.name;
      members.push_back(std::move(entry));
    }
    const nlohmann::json text = {{"epoch", state.epoch},
                                 {"size", state.size},
                                 {"waiting", state.waiting},
                                 {"present", state.present},
                                 {"finished", state.finished},
                                 {"error", state.error},
                                 {"progress", rendezvous->progress(state)},
                                 {"members", members},
                                 {"log", rendezvous->log.take()},
                                 {"forsaken_seats", state.forsaken_seats}};
    *result = new tw_result{{}, text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
  });
}

tw_status tw_rendezvous_accept(tw_rendezvous* rendezvous) {
  return guarded([&] {
    TW_REQUIRE(rendezvous != nullptr, "the rendezvous is a null pointer");
    rendezvous->rendezvous.accept_result();
  });
}

void tw_rendezvous_free(tw_rendezvous* rendezvous) { delete rendezvous; }
