// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "callbacks.h"

#include <nanobind/trampoline.h>

#include <sstream>

namespace thalweg::python {
namespace {

/// Lets a Python class watch a run.
class PythonCallback : public Callback {
 public:
  NB_TRAMPOLINE(Callback);
  void on_start(const TrainState& state) override { NB_OVERRIDE(on_start, state); }
  void on_step(const TrainState& state) override { NB_OVERRIDE(on_step, state); }
  void on_validation(const TrainState& state) override { NB_OVERRIDE(on_validation, state); }
  void on_epoch(const TrainState& state) override { NB_OVERRIDE(on_epoch, state); }
  void on_checkpoint(const TrainState& state, const std::string& path) override {
    NB_OVERRIDE(on_checkpoint, state, path);
  }
  void on_end(const TrainState& state) override { NB_OVERRIDE(on_end, state); }
  void on_message(const std::string& text) override { NB_OVERRIDE(on_message, text); }
};

/// The fields of EpochRecord, for pickle.
using EpochState = std::tuple<int64_t, int64_t, double, double, double, double, double, Scores>;

void bind_states(nb::module_& module) {
  nb::class_<TrainState>(module, "TrainState", "Where a run stands and how it fares.")
      .def_prop_ro("iteration", [](const TrainState& self) { return self.progress.iteration; })
      .def_prop_ro("epoch", [](const TrainState& self) { return self.progress.epoch; })
      .def_prop_ro(
          "loss", [](const TrainState& self) { return self.progress.loss; }, "Of the last step.")
      .def_ro("epochs", &TrainState::epochs, "Of the whole run; 0 if something else ends it.")
      .def_ro("epoch_loss", &TrainState::epoch_loss, "Mean over the epoch so far.")
      .def_ro("learning_rate", &TrainState::learning_rate)
      .def_ro("samples_per_second", &TrainState::samples_per_second)
      .def_ro("data_wait_share", &TrainState::data_wait_share)
      .def_ro("batch", &TrainState::batch)
      .def_ro("batches_per_epoch", &TrainState::batches_per_epoch)
      .def_ro("validation", &TrainState::validation)
      .def("progress_text", progress_text, "Of the epoch under way, as a line.")
      .def("epoch_text", epoch_text, "Of an epoch that has ended, as a line.");
  nb::class_<EpochRecord>(module, "EpochRecord", "How an epoch went.")
      .def_ro("epoch", &EpochRecord::epoch)
      .def_ro("iteration", &EpochRecord::iteration)
      .def_ro("loss", &EpochRecord::loss)
      .def_ro("learning_rate", &EpochRecord::learning_rate)
      .def_ro("seconds", &EpochRecord::seconds)
      .def_ro("samples_per_second", &EpochRecord::samples_per_second)
      .def_ro("data_wait_share", &EpochRecord::data_wait_share)
      .def_ro("validation", &EpochRecord::validation)
      .def("__repr__",
           [](const EpochRecord& self) {
             std::ostringstream text;
             text << "EpochRecord(epoch=" << self.epoch << ", loss=" << self.loss;
             for (const auto& [name, value] : self.validation) text << ", validation " << name << "=" << value;
             text << ")";
             return text.str();
           })
      .def("__getstate__",
           [](const EpochRecord& self) {
             return EpochState{self.epoch,           self.iteration, self.loss,
                               self.learning_rate,   self.seconds,   self.samples_per_second,
                               self.data_wait_share, self.validation};
           })
      .def("__setstate__", [](EpochRecord& self, const EpochState& state) {
        std::apply([&](const auto&... fields) { new (&self) EpochRecord{fields...}; }, state);
      });
}

}  // namespace

void SignalWatch::look() {
  const nb::gil_scoped_acquire gil;
  if (failure_ || PyErr_CheckSignals() == 0) return;
  failure_ = std::make_unique<nb::python_error>();
  trainer_->request_stop();
}

void SignalWatch::rethrow() {
  if (!failure_) return;
  trainer_->request_stop(false);
  const std::unique_ptr<nb::python_error> failure = std::move(failure_);
  throw nb::python_error(std::move(*failure));
}

void bind_callbacks(nb::module_& module) {
  bind_states(module);
  nb::class_<Callback, PythonCallback>(module, "Callback",
                                       R"(Watches a run. Whatever it raises ends the run and leaves fit.

>>> import numpy, thalweg
>>> class Watch(thalweg.Callback):
...     def on_epoch(self, state):
...         print("epoch", state.epoch, "of", state.epochs)
>>> x = numpy.zeros((8, 2), "float32")
>>> model = thalweg.Model(thalweg.nn.Linear(2, 1), [thalweg.Input((None, 2))])
>>> trainer = thalweg.Trainer(model, "mse", epochs=2, callbacks=[Watch()], progress="none")
>>> history = trainer.fit(thalweg.data.TensorDataset([x], [x[:, :1]]))
epoch 1 of 2
epoch 2 of 2)")
      .def(nb::init<>())
      .def("on_start", &Callback::on_start, "state"_a)
      .def("on_step", &Callback::on_step, "state"_a, "After every change of the weights.")
      .def("on_validation", &Callback::on_validation, "state"_a)
      .def("on_epoch", &Callback::on_epoch, "state"_a)
      .def("on_checkpoint", &Callback::on_checkpoint, "state"_a, "path"_a)
      .def("on_end", &Callback::on_end, "state"_a, "Also after a stop, not after an error.")
      .def("on_message", &Callback::on_message, "text"_a);
}

}  // namespace thalweg::python
