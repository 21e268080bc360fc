// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The presets: data only. Defaults are those of the papers.
#include "sync/parts.h"

namespace thalweg::sync {
namespace {

constexpr Composition kEverywhere{.kind = "gradients", .topology = "all-reduce", .place = "everybody"};
constexpr Composition kByOwners{.kind = "gradients", .topology = "scatter-reduce", .place = "owners"};
constexpr Composition kAtRoot{.kind = "gradients", .topology = "tree", .place = "owners"};
constexpr Composition kServed{.kind = "served"};
constexpr Composition kAveraged{.kind = "weights", .rule = "mean"};
constexpr Composition kOuterStepped{.kind = "weights", .rule = "outer"};
constexpr Composition kOnARing{.kind = "weights", .rule = "ring"};
constexpr Composition kWithBackup{.kind = "served with backup workers"};
constexpr Composition kGossip{.kind = "free weights", .rule = "gossip"};
constexpr Composition kElastic{.kind = "free weights", .rule = "elastic"};
constexpr Composition kElasticTree{.kind = "free weights", .rule = "elastic tree"};
constexpr Composition kAnchored{.kind = "free weights", .rule = "anchor"};
constexpr Composition kFactored{.kind = "served activations and errors"};
constexpr Composition kMeasured{.kind = "measured"};
constexpr Composition kOfHosts{.kind = "gradients", .topology = "two levels", .place = "owners"};

constexpr const char* kAsOneWorker =
    "the weights of one worker with the whole batch, whatever the number of workers and whoever is lost";
constexpr const char* kStale =
    "no worker is further ahead of the slowest than `staleness`; 0 gives the weights of one worker with the whole "
    "batch";
constexpr const char* kMeanOfRuns =
    "all end with one set of weights; with period 1 and plain SGD those of one worker with the whole batch";

}  // namespace

const std::vector<PresetRow>& preset_rows() {
  static const std::vector<PresetRow> rows = {
      {"allreduce",
       kEverywhere,
       {},
       "every worker adds up the gradients of all and makes the same update (PyTorch DDP, Horovod)",
       kAsOneWorker,
       "always, unless memory, traffic or slow workers say otherwise"},
      {"sharded",
       kByOwners,
       {},
       "each worker owns a part of the parameters and of the optimiser's state: it adds up the gradients of all for "
       "it, "
       "updates it, and hands out the weights (BigDL)",
       kAsOneWorker,
       "the optimiser's state is large: each worker keeps its part and copies of others only"},
      {"ssp",
       kServed,
       {},
       "each worker serves a part of the parameters, and may be `staleness` steps ahead of the slowest: 0 is "
       "synchronous, s is Petuum, unbounded is DistBelief's Downpour",
       kStale,
       "workers are slow now and then, and not always the same ones"},
      {"localsgd",
       kAveraged,
       {},
       "every worker trains by itself, and all take the mean of their weights every `period` steps (SparkNet)",
       kMeanOfRuns,
       "the network is slow: traffic falls by the period; the learning rate may need another look"},
      {"pytorch",
       kEverywhere,
       {},
       "as allreduce, by the name of PyTorch's DistributedDataParallel",
       kAsOneWorker,
       "always, unless memory, traffic or slow workers say otherwise"},
      {"bigdl",
       kByOwners,
       {},
       "as sharded, by the name of BigDL",
       kAsOneWorker,
       "the optimiser's state is large: each worker keeps its part and copies of others only"},
      {"caffeonspark",
       kByOwners,
       {},
       "as sharded, by the name of CaffeOnSpark, which sent the parts by MPI or RDMA",
       kAsOneWorker,
       "as bigdl; with mpirun parts travel by MPI too"},
      {"firecaffe",
       kAtRoot,
       {},
       "gradients are added up along a binomial tree, the first worker updates, and weights come back along the tree "
       "(FireCaffe)",
       kAsOneWorker,
       "for comparison: with long messages all-reduce moves less through the busiest link"},
      {"sparknet",
       kAveraged,
       {{"period", 50}},
       "every worker trains by itself, and all take the mean of their weights every 50 steps (SparkNet)",
       kMeanOfRuns,
       "the network is slow, and batches are alike"},
      {"diloco",
       kOuterStepped,
       {{"period", 500}},
       "as localsgd with a long period, but the mean's movement is the gradient of a step with Nesterov's momentum "
       "(DiLoCo)",
       "all end with one set of weights; with period 1, outer_rate 1 and outer_momentum 0 it is averaging",
       "the network is very slow: between data centres; the inner optimiser is AdamW in the paper"},
      {"d-psgd",
       kOnARing,
       {{"period", 1}},
       "every worker takes the mean of its own and its neighbours' weights on a ring, and adds its own update (D-PSGD)",
       "the mean over all workers moves by the mean of their updates; all end with that mean",
       "there are many workers, and no link may carry more than its two ends cause",
       3,
       "two are no ring: it would be plain averaging"},
      {"petuum",
       kServed,
       {{"staleness", 3}, {"own_first", 1}},
       "a worker may be 3 steps ahead of the slowest, and sees its own updates at once (Petuum, SSP)",
       kStale,
       "workers are slow now and then, and not always the same ones"},
      {"distbelief",
       kServed,
       {{"staleness", kUnbounded}, {"own_first", 1}},
       "workers never wait for each other: gradients go to those who serve a part, and the newest weights come back "
       "after every step (DistBelief, Downpour SGD with n_push = n_fetch = 1; the paper updates with adagrad)",
       "nobody waits for a slow worker; one worker alone is plain training",
       "workers are of very different speed; a smaller learning rate may be needed"},
      {"tensorflow",
       kWithBackup,
       {},
       "servers update with the first gradients of a step that come, those of all workers but `backup`; gradients of "
       "older steps are dropped (TensorFlow's synchronous training with backup workers; the paper has 4% of them)",
       "every update has the gradients of as many workers, none of an older step; `backup` 0 gives the weights of one "
       "worker with the whole batch",
       "some worker is always slow, and samples are plenty",
       3,
       "each step goes without the gradient of one worker, and with two nothing would be averaged"},
      {"gosgd",
       kGossip,
       {},
       "after a step a worker sends, with a small probability, its weights and half of its share to another one, which "
       "takes the mean of both by their shares (GoSGD)",
       "nobody waits for anybody; shares and weights times shares are conserved; all end with the mean by shares",
       "the network is slow, or no worker should be one that all depend on"},
      {"easgd",
       kElastic,
       {},
       "workers train by themselves; every `period` steps each is pulled towards a center, and the center towards it "
       "(EASGD); each worker keeps a part of the center",
       "nobody waits for anybody; an exchange conserves the sum of weights and center; all end with the center",
       "workers are of different speed and traffic is dear; exploration away from the center may help"},
      {"eamsgd",
       kElastic,
       {{"momentum", 0.99}},
       "as easgd, and each worker's own steps have Nesterov's momentum (EAMSGD); with sgd without momentum",
       "as easgd",
       "as easgd, where sgd with momentum is what trains best"},
      {"tree-easgd",
       kElasticTree,
       {},
       "workers are nodes of a tree; along each of its edges an elastic pull brings both ends together, more often at "
       "leaves than between inner nodes (EASGD Tree)",
       "a pull conserves the sum of both ends; all end with the mean of all",
       "there are many workers, and a center that all talk to would be a bottleneck",
       3,
       "two are no tree: it would be easgd"},
      {"mpca-sgd",
       kAnchored,
       {},
       "workers train against a pull towards where the mean of all weights is expected; means are gathered along a "
       "binomial tree and handed out while training goes on (MPCA-SGD)",
       "nobody waits for a mean; without pull workers are independent, with full pull and no delay it is averaging",
       "the network is slow, and workers are of different speed"},
      {"mxnet",
       kOfHosts,
       {},
       "gradients are added up inside each host first; one worker of each host owns an equal part, updates it, and "
       "hands out the weights (MXNet's two levels, synchronous)",
       kAsOneWorker,
       "several workers share a host, and hosts have a slow network"},
      {"parameter-server",
       kServed,
       // Of its own steps a worker of the paper's may be as far ahead. With momentum gradients that come so late swing
       // it.
       {{"staleness", 4}, {"own_first", 1}, {"copies", 1}},
       "servers of ranges of the parameters, each with a copy at another; a worker may be 4 steps ahead of the "
       "slowest, and with `filter` weights that have hardly moved are not sent again (Parameter Server, Li et al.)",
       "as ssp, and updates that a worker has an answer to survive the loss of a server",
       "as petuum, where servers are lost now and then, or weights settle early"},
      {"project-adam",
       kFactored,
       {{"staleness", kUnbounded}, {"own_first", 1}, {"copies", 1}},
       "as distbelief, but of fully connected layers activations and errors travel, from which servers compute the "
       "gradient; each part has a copy at another server (Project Adam)",
       "as distbelief, with the weights that sending gradients would give; updates that a worker has an answer to "
       "survive the loss of a server",
       "most parameters are those of fully connected layers, and each worker has few samples of a batch"},
      {"auto",
       kMeasured,
       {},
       "measures for some steps, which it takes back, how fast workers and their links are, and becomes one of "
       "allreduce, tensorflow, petuum, localsgd and easgd, with a compression and a period that fit",
       "what the scheme promises that it has chosen; it says which, and why",
       "it is not known how workers and the network fare; thalweg trial tells more, and takes longer"},
  };
  return rows;
}

}  // namespace thalweg::sync
