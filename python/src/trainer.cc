// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "callbacks.h"
#include "engine_calls.h"
#include "groups.h"
#include "thalweg/fit_data.h"

namespace thalweg::python {
namespace {

/// As Python's objects are shared.
using DatasetHandle = std::shared_ptr<data::Dataset>;

/// A trainer, and what watches for signals while it works.
struct WatchedTrainer {
  std::shared_ptr<SignalWatch> signals = std::make_shared<SignalWatch>();
  std::unique_ptr<Trainer> trainer;
  const Model* model = nullptr;
  bool in_group = false;
  std::optional<Loss> loss;

  /// What the loss takes of data as people have them; null of null.
  data::DatasetPtr fitted(const DatasetHandle& given) const {
    return given == nullptr ? given : fit_target(given, model->graph(), *loss);
  }
};

/// Sets fields from keyword arguments, those that were given.
class Keywords {
 public:
  /// `what` names the whole for messages: "train option".
  Keywords(std::string what, const nb::dict& given)
      : what_(std::move(what)), left_(nb::borrow<nb::dict>(given.attr("copy")())) {}

  nb::object take(const char* name) {
    known_ += (known_.empty() ? "" : ", ") + std::string(name);
    if (!left_.contains(name)) return nb::none();
    return left_.attr("pop")(name);
  }
  /// `advice` says what it is, for those who give something else.
  template <typename T>
  void set(const char* name, T& field, const char* advice = nullptr) {
    const nb::object value = take(name);
    if (value.is_none() || nb::try_cast(value, field)) return;
    raise_input_error(what_, " ", name, " cannot be ", nb::repr(value).c_str(), advice == nullptr ? "" : ": ",
                      advice == nullptr ? "" : advice);
  }
  void set_path(const char* name, std::string& field) {
    PathText path{field};
    set(name, path);
    field = path.text;
  }
  template <typename T>
  void set_choice(const char* name, T& field, std::initializer_list<std::pair<const char*, T>> choices) {
    std::string text, known;
    set(name, text);
    if (text.empty()) return;
    for (const auto& [choice, value] : choices) {
      if (text == choice) {
        field = value;
        return;
      }
      known += (known.empty() ? "" : ", ") + std::string(choice);
    }
    raise_input_error(what_, " ", name, " is '", text, "', not one of ", known);
  }
  template <typename T>
  void set_named(const char* name, T& field, T (*from_name)(const std::string&)) {
    std::string text;
    set(name, text);
    if (!text.empty()) field = from_name(text);
  }
  /// Call it after all others: what nobody took is a mistake.
  void require_empty() const {
    for (const auto& [name, value] : left_) {
      raise_input_error("there is no ", what_, " ", nb::repr(name).c_str(), "; there are ", known_);
    }
  }

 private:
  std::string what_, known_;
  nb::dict left_;
};

void set_stopping(Keywords& keywords, TrainOptions& options) {
  nb::dict early;
  keywords.set("early_stopping", early, R"(it is a dict such as {"patience": 3})");
  Keywords inner("option of early_stopping", early);
  inner.set("patience", options.early_stopping.patience);
  inner.set("min_change", options.early_stopping.min_change);
  inner.set("restore_best", options.early_stopping.restore_best);
  inner.require_empty();
}

/// One metric or several. Those that are but named fit a loss whose name is known.
void set_metrics(Keywords& keywords, const Model& model, nb::handle loss, TrainOptions& options) {
  nb::object given = keywords.take("metrics");
  if (given.is_none()) return;
  const bool single = PyUnicode_Check(given.ptr()) != 0 || nb::isinstance<MetricChoice>(given);
  if (single) given = nb::make_tuple(given);
  const std::string known_loss = loss_name(loss);
  for (const nb::handle metric : given) {
    const MetricChoice choice = metric_from(metric);
    if (PyUnicode_Check(metric.ptr()) != 0 && !known_loss.empty()) {
      const Shape& output = model.graph().outputs().at(0)->shape();
      options.metrics.push_back(metrics::fitting_metric(choice.name, known_loss, output));
    } else {
      options.metrics.push_back(metrics::make_metric(choice.name, choice.options));
    }
  }
}

void set_reading(Keywords& keywords, TrainOptions& options) {
  using data::BadSample, data::LastBatch;
  keywords.set("batch_size", options.batch_size);
  keywords.set("shuffle", options.shuffle);
  keywords.set("shuffle_window", options.shuffle_window);
  keywords.set("prefetch", options.prefetch);
  keywords.set("readers", options.readers);
  keywords.set_choice("last_batch", options.last_batch, {{"keep", LastBatch::kKeep}, {"drop", LastBatch::kDrop}});
  keywords.set_choice("bad_samples", options.bad_samples, {{"fail", BadSample::kFail}, {"skip", BadSample::kSkip}});
}

TrainOptions options_from(const nb::dict& given, const Model& model, nb::handle loss) {
  Keywords keywords("train option", given);
  TrainOptions options;
  keywords.set("epochs", options.epochs);
  set_reading(keywords, options);
  keywords.set("seed", options.seed);
  keywords.set("learning_rate", options.learning_rate);
  keywords.set("accumulate", options.accumulate);
  keywords.set("clip_norm", options.clip_norm);
  keywords.set("clip_value", options.clip_value);
  keywords.set_named("precision", options.precision, precision_from_name);
  keywords.set_named("math", options.math, math_from_name);
  keywords.set_named("tuning", options.tuning, tuning_from_name);
  keywords.set_choice("non_finite", options.non_finite, {{"error", NonFinite::kError}, {"skip", NonFinite::kSkip}});
  keywords.set_choice("progress", options.progress,
                      {{"auto", ShowProgress::kAuto}, {"lines", ShowProgress::kLines}, {"none", ShowProgress::kNone}});
  keywords.set("threads", options.threads);
  keywords.set("score", options.score);
  keywords.set_path("checkpoints", options.checkpoints.directory);
  keywords.set_path("tensorboard", options.tensorboard);
  keywords.set("schedule", options.schedule);
  keywords.set("callbacks", options.callbacks);
  const SchemeHandle* scheme = nullptr;
  keywords.set("scheme", scheme, "it is what thalweg.groups.join(name) gives");
  if (scheme != nullptr) options.scheme = open_scheme(*scheme);
  set_metrics(keywords, model, loss, options);
  set_stopping(keywords, options);
  keywords.require_empty();
  return options;
}

void init_trainer(WatchedTrainer* self, Model& model, nb::handle loss, nb::handle optimizer, const nb::kwargs& given) {
  TrainOptions options = options_from(given, model, loss);
  const OptimizerChoice choice = optimizer_from(optimizer);
  if (choice.learning_rate.has_value() && options.learning_rate == 0) options.learning_rate = *choice.learning_rate;
  new (self) WatchedTrainer();
  self->model = &model;
  self->in_group = options.scheme != nullptr;
  self->loss = loss_from(loss);
  options.callbacks.push_back(self->signals);
  self->trainer = std::make_unique<Trainer>(model, *self->loss, optim::make_optimizer(choice.name, choice.options),
                                            std::move(options));
  self->signals->watch(*self->trainer);
}

/// Calls the engine, and afterwards raises what the handler of a signal raised meanwhile.
template <typename Call>
auto call_watched(WatchedTrainer& self, const Call& call) {
  auto result = call_engine(call);
  self.signals->rethrow();
  return result;
}

std::vector<EpochRecord> fit(WatchedTrainer& self, const DatasetHandle& train, const DatasetHandle& validation) {
  if (!self.in_group) warn_if_launched_alone();
  const data::DatasetPtr samples = self.fitted(train), checked = self.fitted(validation);
  return call_watched(self, [&] { return self.trainer->fit(*samples, checked.get()); });
}

Scores evaluate(WatchedTrainer& self, const DatasetHandle& data) {
  const data::DatasetPtr samples = self.fitted(data);
  return call_watched(self, [&] { return self.trainer->evaluate(*samples); });
}

double score(WatchedTrainer& self, const DatasetHandle& data) {
  const data::DatasetPtr samples = self.fitted(data);
  return call_watched(self, [&] { return self.trainer->score(*samples); });
}

void resume(WatchedTrainer& self, const PathText& path) {
  call_engine([&] { self.trainer->resume(path.text); });
}

std::string save_checkpoint(WatchedTrainer& self, const std::string& directory) {
  return call_engine([&] { return self.trainer->save_checkpoint(directory); });
}

}  // namespace

void bind_trainer(nb::module_& module) {
  nb::class_<WatchedTrainer>(module, "Trainer",
                             R"(Trains a model on datasets; thalweg.Estimator takes arrays and tables.

>>> import numpy, thalweg
>>> x = numpy.random.default_rng(0).normal(size=(200, 2)).astype("float32")
>>> train = thalweg.data.TensorDataset([x], [(x[:, 0] > 0).astype("int64")])
>>> model = thalweg.Model(thalweg.nn.Linear(2, 2), [thalweg.Input((None, 2))])
>>> trainer = thalweg.Trainer(model, "cross_entropy", "adam", epochs=3, learning_rate=0.1, metrics=["accuracy"],
...                           progress="none")
>>> len(trainer.fit(train, validation=train)), trainer.score(train) > 0.9
(3, True)

Options are those of TrainOptions (include/thalweg/train.h) by name; what is absent or None keeps its default, loss and
optimiser too (include/thalweg/fit_data.h).)")
      .def("__init__", init_trainer, "model"_a, "loss"_a.none() = nb::none(), "optimizer"_a.none() = nb::none(),
           "options"_a, nb::keep_alive<1, 2>())
      .def("fit", fit, "train"_a, "validation"_a.none() = nb::none(),
           "Trains until the end, and returns the record of every epoch. Ctrl-C ends it after the step under way. A "
           "single "
           "target becomes what the loss takes, as in [N, 1] for [N], or whole numbers for classes.")
      .def("evaluate", evaluate, "data"_a, "The mean loss and the metrics over all samples.")
      .def("score", score, "data"_a,
           "The first metric or what `score` names, negative if lower is better; minus the loss without metrics.")
      .def(
          "request_stop", [](WatchedTrainer& self, bool stop) { self.trainer->request_stop(stop); }, "stop"_a = true,
          "Ends fit, on another thread or in a callback, after the step under way.")
      .def("resume", resume, "path"_a, "Goes on from a checkpoint.")
      .def("save_checkpoint", save_checkpoint, "directory"_a, "Writes one, and returns its path.")
      .def_prop_ro("history", [](WatchedTrainer& self) { return self.trainer->history(); })
      .def_prop_ro(
          "skipped", [](WatchedTrainer& self) { return self.trainer->skipped(); },
          "Samples that could not be read and were left out, with bad_samples=\"skip\".")
      .def_prop_ro("state", [](WatchedTrainer& self) { return self.trainer->state(); })
      .def(
          "explain", [](WatchedTrainer& self) { return self.trainer->explain(); },
          "How a training step runs: kernels, layouts, memory.");
}

}  // namespace thalweg::python
