// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Elastic averaging (Zhang, Choromanska and LeCun, 2015): every `period` steps d = alpha (x - center) is taken before a
// step; the center moves by d, and x, once it has made the step, by -d. alpha is beta / p. Each worker keeps an equal
// part of the center, and takes d of it in one go for whoever sends the same part of x: what leaves x arrives at the
// center. With momentum (EAMSGD) a worker's own updates are those of Nesterov's form: v <- m v - rate g(x + m v),
// x <- x + v; the model has x + m v, where gradients are taken.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "sync/compress/bits.h"
#include "sync/peer_rule.h"
#include "sync/shard.h"

namespace thalweg::sync {
namespace {

class ElasticRule : public PeerRule {
 public:
  ElasticRule(int64_t period, double beta, double momentum)
      : period_(period), beta_(beta), momentum_(static_cast<float>(momentum)) {}

  void check(Trainee& trainee) const override {
    if (momentum_ == 0) return;
    optim::Optimizer& updater = trainee.updater();
    for (const TrainedVariable& entry : trainee.trained()) {
      TW_REQUIRE(updater.slots(trainee.updater_index(entry.variable)).empty(),
                 "a scheme with the option momentum has Nesterov's momentum of its own, and optimizer ", updater.name(),
                 " keeps state too: use sgd without momentum, or the scheme easgd");
    }
  }

  void prepare(const PeerLine& line, const FlatWeights& flat, std::span<const float> weights,
               const std::vector<NamedTensor>& common, const std::vector<NamedTensor>& own) override {
    line_ = line;
    std::vector<float> row;
    if (!flat.load(kCenter, common, row)) row = std::move(recovered_);
    // At the very beginning all have the same.
    if (row.size() != weights.size()) row.assign(weights.begin(), weights.end());
    recovered_.clear();
    const comm::Part part = part_of(line.rank, row.size());
    floats_ = row.size();
    center_.assign(row.begin() + static_cast<int64_t>(part.begin), row.begin() + static_cast<int64_t>(part.end));
    place_ = {line.size, line.rank, 0};
    differences_.clear();
    awaited_ = 0;
    is_due_ = false;
    if (momentum_ == 0) return;
    if (!flat.load(kVelocity, own, velocity_)) velocity_.resize(weights.size());
    before_.assign(weights.begin(), weights.end());
  }

  bool wants(int64_t step) const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!differences_.empty() || (step > 0 && momentum_ > 0)) return true;
    return step > 0 && (is_due_ || step % period_ == 0) && awaited_ == 0;
  }

  void act(int64_t step, std::vector<float>& weights) override {
    if (step > 0 && momentum_ > 0) {
      for (size_t i = 0; i < weights.size(); ++i) {
        velocity_[i] = momentum_ * velocity_[i] + (weights[i] - before_[i]);
        weights[i] += momentum_ * velocity_[i];
      }
    }
    const bool may_send = take_back(weights);
    is_due_ = is_due_ || (step > 0 && step % period_ == 0);
    if (step > 0 && std::exchange(is_due_, is_due_ && !may_send) && may_send) send(weights);
    if (momentum_ > 0) before_ = weights;
  }

  comm::Status handle(int from, std::span<const std::byte> contents) override {
    const auto nonsense = [&](const std::string& what) {
      return comm::Failure{comm::FailureKind::kProtocol, from, what, 0};
    };
    if (contents.size() < sizeof(uint64_t)) return nonsense("an elastic message that ends early");
    const auto kind = take_number<uint64_t>(contents);
    const size_t floats = kind == kWeights ? center_.size() : part_of(from, floats_).size();
    if ((kind != kWeights && kind != kDifference) || contents.size() != floats * sizeof(float)) {
      return nonsense("an elastic message of " + std::to_string(contents.size()) + " bytes in place of " +
                      std::to_string(floats * sizeof(float)));
    }
    std::vector<float> values(floats);
    std::memcpy(values.data(), contents.data(), contents.size());
    const std::lock_guard<std::mutex> lock(mutex_);
    if (kind == kDifference) {
      if (awaited_ == 0) return nonsense("a difference that nobody has asked for");
      differences_.emplace_back(from, std::move(values));
      --awaited_;
      return {};
    }
    const auto alpha = static_cast<float>(beta_ / line_.size);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = alpha * (values[i] - center_[i]);
      center_[i] += values[i];
    }
    line_.send(from, message(kDifference, values));
    return {};
  }

  bool expects() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return awaited_ > 0 || !differences_.empty();
  }

  /// All end with the center.
  comm::Status end(comm::Communicator& communicator, std::vector<float>& weights) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::copy(center_.begin(), center_.end(),
              weights.begin() + static_cast<int64_t>(part_of(line_.rank, floats_).begin));
    return communicator.all_gather(weights.data(), weights.size(), DType::kF32);
  }

  /// Of a worker that was lost, the part of the center is the mean of the others' weights.
  comm::Status recover(comm::Communicator& communicator, std::span<const float> weights, bool counts) override {
    ShardSources sources;
    const bool has_part = counts && !center_.empty();
    const Holding mine{has_part ? std::optional(place_) : std::nullopt, false};
    if (comm::Status status = find_sources(communicator, mine, sources); !status) return status;
    std::vector<float> row;
    comm::Status status = collect_row(communicator, sources, {{place_.own, center_}}, weights.size(), row);
    std::vector<float> mean(weights.size());
    if (counts) mean.assign(weights.begin(), weights.end());
    float counting = counts ? 1 : 0;
    if (status.ok()) status = communicator.all_reduce(mean.data(), mean.size(), DType::kF32);
    if (status.ok()) status = communicator.all_reduce(&counting, 1, DType::kF32);
    if (!status) return status;
    for (int part = 0; part < sources.parts; ++part) {
      if (sources.source[static_cast<size_t>(part)] >= 0) continue;
      const comm::Part range = comm::part_of(row.size(), sources.parts, part);
      for (size_t i = range.begin; i < range.end; ++i) row[i] = mean[i] / counting;
    }
    recovered_ = std::move(row);
    return {};
  }

  std::vector<NamedTensor> own_state(const FlatWeights& flat) override {
    std::vector<NamedTensor> state;
    if (momentum_ > 0) state = flat.save(kVelocity, velocity_);
    const std::lock_guard<std::mutex> lock(mutex_);
    Tensor part(DType::kF32, {static_cast<int64_t>(center_.size())});
    std::copy(center_.begin(), center_.end(), part.data<float>());
    state.push_back({kCenterPart, part});
    return state;
  }

  std::vector<NamedTensor> common_state(const FlatWeights& flat, std::vector<std::vector<NamedTensor>>& own) override {
    std::vector<float> row;
    for (std::vector<NamedTensor>& state : own) {
      for (const NamedTensor& entry : state) {
        if (entry.name != kCenterPart || entry.tensor.dtype() != DType::kF32) continue;
        row.insert(row.end(), entry.tensor.data<float>(), entry.tensor.data<float>() + entry.tensor.num_elements());
      }
      std::erase_if(state, [](const NamedTensor& entry) { return entry.name == kCenterPart; });
    }
    return row.size() == flat.size() ? flat.save(kCenter, row) : std::vector<NamedTensor>();
  }

 private:
  static constexpr uint64_t kWeights = 1, kDifference = 2;
  static constexpr const char* kCenter = "center/";
  static constexpr const char* kCenterPart = "center_part";
  static constexpr const char* kVelocity = "velocity/";

  comm::Part part_of(int rank, size_t floats) const { return comm::part_of(floats, line_.size, rank); }

  static Bytes message(uint64_t kind, std::span<const float> values) {
    Bytes bytes;
    put_number(bytes, kind);
    const std::span<const std::byte> raw = std::as_bytes(values);
    bytes.insert(bytes.end(), raw.begin(), raw.end());
    return bytes;
  }

  /// Applies what has come back; true if nothing is on its way.
  bool take_back(std::vector<float>& weights) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [server, values] : differences_) {
      float* target = weights.data() + part_of(server, floats_).begin;
      for (size_t i = 0; i < values.size(); ++i) target[i] -= values[i];
    }
    differences_.clear();
    return awaited_ == 0;
  }

  void send(const std::vector<float>& weights) {
    std::vector<float> x = weights;
    for (size_t i = 0; i < velocity_.size(); ++i) x[i] -= momentum_ * velocity_[i];
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      awaited_ = line_.size;
    }
    for (int server = 0; server < line_.size; ++server) {
      const comm::Part part = part_of(server, floats_);
      line_.send(server, message(kWeights, std::span<const float>(x).subspan(part.begin, part.size())));
    }
  }

  int64_t period_;
  double beta_;
  float momentum_;
  PeerLine line_;
  size_t floats_ = 0;
  Shard::Place place_;
  /// Of the thread that trains: an exchange is due, that waits for the last one.
  bool is_due_ = false;
  std::vector<float> velocity_, before_;
  std::vector<float> recovered_;

  mutable std::mutex mutex_;
  /// The part of it that is here.
  std::vector<float> center_;
  /// What has come back from whom, and from how many more it will.
  std::vector<std::pair<int, std::vector<float>>> differences_;
  int awaited_ = 0;
};

const RegisterPeerRule kElastic(
    {"elastic",
     Exchange::kAdHoc,
     {{"period", 10, 1, kMany, true, "steps between two exchanges with the center"},
      {"beta", 0.9, 0, 1, false, "of a worker's distance from the center, all workers together move it by so much"},
      {"momentum", 0, 0, 0.999999, false, "Nesterov's, of each worker's own steps; the optimiser has none then"}},
     [](const PartOptions& values) -> std::unique_ptr<PeerRule> {
       return std::make_unique<ElasticRule>(static_cast<int64_t>(values.at("period")), values.at("beta"),
                                            values.at("momentum"));
     }});

}  // namespace

}  // namespace thalweg::sync
