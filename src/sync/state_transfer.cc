// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/state_transfer.h"

#include <nlohmann/json.hpp>

namespace thalweg::sync {
namespace {

using nlohmann::json;

/// What a snapshot consists of, by the names that its description uses.
struct Section {
  const char* name;
  std::vector<NamedTensor> Checkpoint::*tensors;
};
constexpr Section kSections[] = {
    {"weights", &Checkpoint::weights}, {"optimizer", &Checkpoint::optimizer}, {"best", &Checkpoint::best_weights}};

std::string describe(const Checkpoint& snapshot) {
  json description = {{"iteration", snapshot.iteration}, {"trainer", snapshot.trainer_json}};
  for (const Section& section : kSections) {
    json list = json::array();
    for (const NamedTensor& entry : snapshot.*section.tensors) {
      list.push_back(
          {{"name", entry.name}, {"dtype", name_of(entry.tensor.dtype())}, {"shape", entry.tensor.shape().dims()}});
    }
    description[section.name] = list;
  }
  return description.dump();
}

/// The snapshot with tensors that have no values yet.
Checkpoint allocate(const std::string& text) {
  try {
    const json description = json::parse(text);
    Checkpoint snapshot;
    snapshot.iteration = description.at("iteration").get<int64_t>();
    snapshot.trainer_json = description.at("trainer").get<std::string>();
    for (const Section& section : kSections) {
      for (const json& entry : description.at(section.name)) {
        (snapshot.*section.tensors)
            .push_back(
                {entry.at("name").get<std::string>(), Tensor(dtype_from_name(entry.at("dtype").get<std::string>()),
                                                             Shape(entry.at("shape").get<std::vector<int64_t>>()))});
      }
    }
    return snapshot;
  } catch (const json::exception& error) {
    raise("the description of another worker's state cannot be read: ", error.what());
  }
}

}  // namespace

comm::Status broadcast_snapshot(comm::Communicator& communicator, int root, Checkpoint& snapshot) {
  const bool sends = communicator.rank() == root;
  std::string text = sends ? describe(snapshot) : "";
  uint64_t size = text.size();
  if (comm::Status status = communicator.broadcast(&size, sizeof size, root); !status) return status;
  text.resize(size);
  if (comm::Status status = communicator.broadcast(text.data(), size, root); !status) return status;
  if (!sends) snapshot = allocate(text);
  for (const Section& section : kSections) {
    for (const NamedTensor& entry : snapshot.*section.tensors) {
      comm::Status status = communicator.broadcast(entry.tensor.raw(), entry.tensor.num_bytes(), root);
      if (!status) return status;
    }
  }
  return {};
}

}  // namespace thalweg::sync
