// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/state_transfer.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/limits.h"
#include "base/text.h"

namespace thalweg::sync {
namespace {

using nlohmann::json;

/// Names and shapes of half a million tensors fit.
constexpr uint64_t kMostDescriptionBytes = uint64_t{64} << 20U;

/// What a snapshot consists of, by the names that its description uses.
struct Section {
  const char* name;
  std::vector<NamedTensor> Checkpoint::*tensors;
};
constexpr Section kSections[] = {{"weights", &Checkpoint::weights},
                                 {"optimizer", &Checkpoint::optimizer},
                                 {"best", &Checkpoint::best_weights},
                                 {"scheme", &Checkpoint::scheme}};
constexpr uint32_t kStateTag = 2;

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

TensorType type_of(const json& entry) {
  return {dtype_from_name(entry.at("dtype").get<std::string>()), Shape(entry.at("shape").get<std::vector<int64_t>>())};
}

/// Throws if all tensors together do not fit into this machine, before memory is taken for any.
void require_room(const json& description) {
  const size_t most = machine_memory();
  size_t total = 0;
  for (const Section& section : kSections) {
    for (const json& entry : description.at(section.name)) {
      const TensorType type = type_of(entry);
      size_t bytes = 0;
      const auto elements = static_cast<size_t>(type.shape.num_elements());
      const bool fits = !__builtin_mul_overflow(elements, size_of(type.dtype), &bytes) && bytes <= most - total;
      TW_REQUIRE(fits, "with '", entry.at("name").get<std::string>(), "' of shape ", type.shape,
                 " it is more than the ", human_bytes(static_cast<double>(most)), " of memory that this machine has");
      total += bytes;
    }
  }
}

/// The snapshot with tensors that have no values yet.
Checkpoint allocate(const json& description) {
  require_room(description);
  Checkpoint snapshot;
  snapshot.iteration = description.at("iteration").get<int64_t>();
  snapshot.trainer_json = description.at("trainer").get<std::string>();
  for (const Section& section : kSections) {
    for (const json& entry : description.at(section.name)) {
      const TensorType type = type_of(entry);
      (snapshot.*section.tensors).push_back({entry.at("name").get<std::string>(), Tensor(type.dtype, type.shape)});
    }
  }
  return snapshot;
}

/// As worker `root` describes it.
Checkpoint allocate(const std::string& text, int root) {
  try {
    return allocate(json::parse(text));
  } catch (const json::exception& error) {
    raise("the description of the state of rank ", root, " cannot be read: ", error.what());
  } catch (const Error& error) {
    raise("the state of rank ", root, " cannot be taken over: ", error.what());
  }
}

void require_short(uint64_t size, int rank) {
  TW_REQUIRE(size <= kMostDescriptionBytes, "the description of the state of rank ", rank, " is ",
             human_bytes(static_cast<double>(size)), " long, at most ",
             human_bytes(static_cast<double>(kMostDescriptionBytes)), " are taken");
}

comm::Status send_tensors(comm::Communicator& communicator, int to, const std::vector<NamedTensor>& tensors) {
  Checkpoint carrier;
  carrier.scheme = tensors;
  const std::string text = describe(carrier);
  const uint64_t size = text.size();
  if (comm::Status status = communicator.send(to, kStateTag, &size, sizeof size); !status) return status;
  if (comm::Status status = communicator.send(to, kStateTag, text.data(), size); !status) return status;
  for (const NamedTensor& entry : tensors) {
    comm::Status status = communicator.send(to, kStateTag, entry.tensor.raw(), entry.tensor.num_bytes());
    if (!status) return status;
  }
  return {};
}

comm::Status receive_tensors(comm::Communicator& communicator, int from, std::vector<NamedTensor>& tensors) {
  uint64_t size = 0;
  if (comm::Status status = communicator.receive(from, kStateTag, &size, sizeof size); !status) return status;
  require_short(size, from);
  std::string text(size, ' ');
  if (comm::Status status = communicator.receive(from, kStateTag, text.data(), size); !status) return status;
  tensors = allocate(text, from).scheme;
  for (const NamedTensor& entry : tensors) {
    comm::Status status = communicator.receive(from, kStateTag, entry.tensor.raw(), entry.tensor.num_bytes());
    if (!status) return status;
  }
  return {};
}

}  // namespace

std::vector<std::byte> pack_tensors(const std::vector<NamedTensor>& tensors) {
  Checkpoint carrier;
  carrier.scheme = tensors;
  const std::string text = describe(carrier);
  const uint64_t size = text.size();
  std::vector<std::byte> message;
  const auto append = [&](const void* data, size_t bytes) {
    const auto* begin = static_cast<const std::byte*>(data);
    message.insert(message.end(), begin, begin + bytes);
  };
  append(&size, sizeof size);
  append(text.data(), text.size());
  for (const NamedTensor& entry : tensors) append(entry.tensor.raw(), entry.tensor.num_bytes());
  return message;
}

std::vector<NamedTensor> unpack_tensors(std::span<const std::byte> message, int from) {
  uint64_t size = 0;
  const auto take = [&](void* to, size_t bytes) {
    TW_REQUIRE(bytes <= message.size(), "the tensors of rank ", from, " end ", bytes - message.size(),
               " bytes too early");
    std::memcpy(to, message.data(), bytes);
    message = message.subspan(bytes);
  };
  take(&size, sizeof size);
  require_short(size, from);
  TW_REQUIRE(size <= message.size(), "the description of the tensors of rank ", from, " has ", size,
             " bytes, there are ", message.size());
  std::string text(size, ' ');
  take(text.data(), size);
  std::vector<NamedTensor> tensors = allocate(text, from).scheme;
  for (const NamedTensor& entry : tensors) take(entry.tensor.raw(), entry.tensor.num_bytes());
  return tensors;
}

comm::Status gather_tensors(comm::Communicator& communicator, int root, const std::vector<NamedTensor>& mine,
                            std::vector<std::vector<NamedTensor>>& all) {
  if (communicator.rank() != root) return send_tensors(communicator, root, mine);
  all.assign(static_cast<size_t>(communicator.size()), {});
  for (int rank = 0; rank < communicator.size(); ++rank) {
    std::vector<NamedTensor>& theirs = all[static_cast<size_t>(rank)];
    if (rank == root) {
      theirs = mine;
    } else if (comm::Status status = receive_tensors(communicator, rank, theirs); !status) {
      return status;
    }
  }
  return {};
}

comm::Status broadcast_snapshot(comm::Communicator& communicator, int root, Checkpoint& snapshot) {
  const bool sends = communicator.rank() == root;
  std::string text = sends ? describe(snapshot) : "";
  uint64_t size = text.size();
  if (comm::Status status = communicator.broadcast(&size, sizeof size, root); !status) return status;
  require_short(size, root);
  text.resize(size);
  if (comm::Status status = communicator.broadcast(text.data(), size, root); !status) return status;
  if (!sends) snapshot = allocate(text, root);
  for (const Section& section : kSections) {
    for (const NamedTensor& entry : snapshot.*section.tensors) {
      comm::Status status = communicator.broadcast(entry.tensor.raw(), entry.tensor.num_bytes(), root);
      if (!status) return status;
    }
  }
  return {};
}

}  // namespace thalweg::sync
