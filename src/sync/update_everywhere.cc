// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "sync/topology.h"
#include "sync/update_place.h"

namespace thalweg::sync {
namespace {

class UpdateEverywhere : public UpdatePlace {
 public:
  bool works_in_place() const override { return true; }
  void prepare(const Context& context) override { context_.emplace(context); }

  comm::Status reduce(std::span<float> bucket) override {
    return context_->exchange.all_reduce(context_->group.communicator(), bucket);
  }

  /// While a bucket travels, the one before it is decoded.
  comm::Status follow(ExchangeThread& thread, size_t tasks_before) override {
    if (context_->exchange.compressor() == nullptr) return {};
    const std::vector<std::span<float>> buckets = context_->buckets.all();
    for (size_t i = 0; i < buckets.size() && thread.wait_for(tasks_before + i + 1); ++i) {
      if (comm::Status status = context_->exchange.end(buckets[i]); !status) return status;
    }
    return {};
  }

  comm::Status update(Update& update) override {
    update.gradients = context_->buckets.views();
    return {};
  }

 private:
  std::optional<Context> context_;
};

const RegisterTopology kAllReduce({"all-reduce", Exchange::kAllReduce, true});
/// Every worker adds up the gradients of all, and makes the same update.
const RegisterUpdatePlace kEverywhere(
    {"everybody", {"all-reduce"}, {}, [](const std::string&, const PartOptions&) -> std::unique_ptr<UpdatePlace> {
       return std::make_unique<UpdateEverywhere>();
     }});

}  // namespace

}  // namespace thalweg::sync
