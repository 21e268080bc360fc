// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/trial/worker.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

namespace thalweg::cli {
namespace {

constexpr const char* kOrders = "orders";

TrialOrders read_orders(const std::filesystem::path& folder) {
  std::ifstream file(folder / kOrders);
  TW_REQUIRE(file.good(), "there are no orders of a trial in ", folder.string());
  try {
    const auto json = nlohmann::json::parse(file);
    TrialOrders orders;
    for (const auto& [worker, times] : json.at("slowness").items()) {
      orders.slowness[std::stoi(worker)] = times.get<double>();
    }
    orders.networks = json.at("networks").get<std::vector<std::string>>();
    orders.score_samples = json.at("score_samples").get<int64_t>();
    return orders;
  } catch (const nlohmann::json::exception& error) {
    raise("the orders of a trial in ", folder.string(), " cannot be read: ", error.what());
  }
}

void enter_network(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  TW_REQUIRE(descriptor >= 0, "cannot open the network ", path, ": ", std::strerror(errno));
  const int failed = ::setns(descriptor, CLONE_NEWNET);
  const int reason = errno;
  ::close(descriptor);
  TW_REQUIRE(failed == 0, "cannot enter the network ", path, ": ", std::strerror(reason));
}

}  // namespace

void write_orders(const TrialOrders& orders, const std::filesystem::path& folder) {
  nlohmann::json slowness = nlohmann::json::object();
  for (const auto& [worker, times] : orders.slowness) slowness[std::to_string(worker)] = times;
  std::ofstream file(folder / kOrders);
  file << nlohmann::json{
      {"slowness", slowness}, {"networks", orders.networks}, {"score_samples", orders.score_samples}};
  TW_REQUIRE(file.flush().good(), "cannot write to ", folder.string());
}

std::vector<std::string> trial_overrides() {
  // Who stops early, or goes on from a checkpoint, trains another time than the others.
  return {"output.model=", "output.checkpoints=", "output.tensorboard=", "output.resume=false", "train.patience=0"};
}

void TrialWorker::add_options(CLI::App& options) {
  // For `thalweg trial` alone: in no group, it is not listed.
  options.add_option("--trial", folder_, "folder of a trial")->group("");
}

void TrialWorker::begin() {
  const char* number = std::getenv("THALWEG_WORKER");
  TW_REQUIRE(number != nullptr, "--trial is for workers that thalweg trial has started");
  worker_ = std::atoi(number);
  orders_ = read_orders(folder_);
  const auto place = static_cast<size_t>(worker_);
  if (place < orders_.networks.size()) enter_network(orders_.networks[place]);
}

void TrialWorker::change(TrainOptions& options, const std::shared_ptr<comm::Group>& group) {
  TW_REQUIRE(group != nullptr, "--trial is for workers of a group");
  const auto slow = orders_.slowness.find(worker_);
  group_ = group;
  trace_ = std::make_shared<TraceWriter>(
      TraceWriter::Options{folder_, worker_, slow != orders_.slowness.end() ? slow->second : 1, options.batch_size},
      group);
  options.callbacks.push_back(trace_);
  const auto never = [](const optim::Progress& /*progress*/) { return false; };
  options.end = optim::Trigger("when the trial ends", never);
  options.validate = optim::Trigger("at the end", never);
  options.progress = ShowProgress::kNone;
}

void TrialWorker::train(Trainer& trainer, const TrainJob& job) {
  trace_->stop = [&] { trainer.request_stop(); };
  trainer.fit(*job.train, nullptr);
  if (group_->rank() != 0) return;
  const nlohmann::ordered_json choice = job::choice_json(job.training.options.scheme.get());
  trace_->write_result(trainer.evaluate(*samples_to_score(job, orders_.score_samples)),
                       choice.is_null() ? "" : choice.dump());
}

data::DatasetPtr TrialWorker::samples_to_score(const TrainJob& job, int64_t most) {
  const data::DatasetPtr all = job.validation != nullptr ? job.validation : job.train;
  if (all->size() <= most) return all;
  return std::make_shared<data::Subset>(data::Subset::first(all, most));
}

}  // namespace thalweg::cli
