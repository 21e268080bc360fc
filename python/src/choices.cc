// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "graph_policy.h"
#include "thalweg/fit_data.h"
#include "thalweg/losses.h"
#include "training.h"

namespace thalweg::python {
namespace {

using Numbers = std::map<std::string, double>;

/// Options by name, with flags as 0 or 1.
Numbers numbers_from(const nb::kwargs& options) {
  Numbers numbers;
  for (const auto& [name, value] : options) {
    numbers[nb::cast<std::string>(name)] =
        PyBool_Check(value.ptr()) ? (value.is(nb::handle(Py_True)) ? 1.0 : 0.0) : nb::cast<double>(value);
  }
  return numbers;
}

/// A failure of the engine that comes back through a loss of Python's: an Error for the engine, which may try the loss
/// with other targets, and for Python the exception that it was, with its trace.
class LossError : public Error {
 public:
  explicit LossError(nb::python_error error)
      : Error(nb::str(error.value()).c_str()), error_(std::make_shared<nb::python_error>(std::move(error))) {}
  void restore() const { error_->restore(); }

 private:
  std::shared_ptr<nb::python_error> error_;
};

void translate_loss_error(const std::exception_ptr& thrown, void* /*payload*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const LossError& error) {
    error.restore();
  }
}

/// A call of the loss: Python is lent the values of a graph that the engine owns.
Value* call_loss(const nb::object& function, const Loss::Values& outputs, const Loss::Values& targets) {
  const nb::gil_scoped_acquire gil;
  const bool single = outputs.size() == 1 && targets.size() == 1;
  const auto lend = [](Value* value) { return nb::cast(value, nb::rv_policy::reference); };
  const auto cast = [&](const Loss::Values& values) {
    if (single) return lend(values[0]);
    nb::list all;
    for (Value* value : values) all.append(lend(value));
    return nb::object(all);
  };
  const Graph& graph = outputs.front()->graph();
  Value* result = nullptr;
  try {
    const nb::object made = function(cast(outputs), cast(targets));
    if (!nb::try_cast(made, result)) result = nullptr;
  } catch (nb::python_error& error) {
    forget_values(graph);
    if (error.matches(nb::module_::import_("thalweg._core").attr("Error"))) throw LossError(std::move(error));
    throw;
  } catch (...) {
    forget_values(graph);
    throw;
  }
  forget_values(graph);
  if (result == nullptr) raise_input_error("the loss must return a value of the graph, made of the values it is given");
  return result;
}

/// What is no name must be a choice.
template <typename Choice>
Choice chosen(nb::handle given, const char* what, const char* example) {
  Choice choice;
  if (nb::try_cast(given, choice)) return choice;
  const std::string type = nb::cast<std::string>(given.type().attr("__name__"));
  throw nb::type_error((std::string(what) + " is a name or such as " + example + ", not a " + type).c_str());
}

}  // namespace

Loss loss_from(nb::handle given) {
  if (given.is_none()) return losses::by_name(kUsualLoss);
  if (PyUnicode_Check(given.ptr())) return losses::by_name(nb::cast<std::string>(given));
  if (!PyCallable_Check(given.ptr())) throw nb::type_error("a loss is a name or a function of output and target");
  const auto function = shared_with_engine(nb::borrow(given));
  return [function](const Loss::Values& outputs, const Loss::Values& targets) {
    return call_loss(*function, outputs, targets);
  };
}

std::string loss_name(nb::handle given) {
  if (given.is_none()) return kUsualLoss;
  if (PyUnicode_Check(given.ptr())) return nb::cast<std::string>(given);
  // What thalweg.nn has keeps the function that it calls.
  const nb::object function = nb::getattr(given, "function", given);
  const nb::module_ module = nb::module_::import_("thalweg._core.losses");
  for (const std::string& name : losses::names()) {
    if (nb::getattr(module, name.c_str(), nb::none()).is(function)) return name;
  }
  return "";
}

OptimizerChoice optimizer_from(nb::handle given) {
  if (given.is_none()) return {kUsualOptimizer, {}, std::nullopt};
  if (!PyUnicode_Check(given.ptr())) return chosen<OptimizerChoice>(given, "an optimiser", "thalweg.optim.adam()");
  OptimizerChoice choice{nb::cast<std::string>(given), {}, std::nullopt};
  optim::make_optimizer(choice.name);
  return choice;
}

MetricChoice metric_from(nb::handle given) {
  if (!PyUnicode_Check(given.ptr())) return chosen<MetricChoice>(given, "a metric", "thalweg.metrics.accuracy()");
  MetricChoice choice{nb::cast<std::string>(given), {}};
  metrics::make_metric(choice.name);
  return choice;
}

void bind_optimizers(nb::module_& module) {
  nb::register_exception_translator(translate_loss_error);
  nb::class_<OptimizerChoice>(module, "Optimizer", "An optimiser and its options; see thalweg.optim.")
      .def_ro("name", &OptimizerChoice::name)
      .def_ro("options", &OptimizerChoice::options)
      .def_ro("learning_rate", &OptimizerChoice::learning_rate)
      .def("__getstate__",
           [](const OptimizerChoice& self) { return std::make_tuple(self.name, self.options, self.learning_rate); })
      .def("__setstate__",
           [](OptimizerChoice& self, const std::tuple<std::string, Numbers, std::optional<double>>& state) {
             new (&self) OptimizerChoice{std::get<0>(state), std::get<1>(state), std::get<2>(state)};
           });
  auto m = module.def_submodule("optim", R"(Optimisers: thalweg.optim.adam(learning_rate=0.01, weight_decay=1e-4).

Options and defaults are those of include/thalweg/optim.h; an unknown one is an error that lists them.)");
  for (const std::string& name : optim::optimizer_names()) {
    m.def(
        name.c_str(),
        [name](std::optional<double> learning_rate, const nb::kwargs& options) {
          OptimizerChoice choice{name, numbers_from(options), learning_rate};
          optim::make_optimizer(name, choice.options);
          return choice;
        },
        "learning_rate"_a = nb::none(), "options"_a);
  }
}

void bind_metrics(nb::module_& module) {
  nb::class_<MetricChoice>(module, "Metric", "A metric and its options; see thalweg.metrics.")
      .def_ro("name", &MetricChoice::name)
      .def_ro("options", &MetricChoice::options)
      .def("__getstate__", [](const MetricChoice& self) { return std::make_pair(self.name, self.options); })
      .def("__setstate__", [](MetricChoice& self, const std::pair<std::string, Numbers>& state) {
        new (&self) MetricChoice{state.first, state.second};
      });
  auto m = module.def_submodule("metrics", "Metrics: thalweg.metrics.top_k_accuracy(k=5).");
  for (const std::string& name : metrics::metric_names()) {
    m.def(
        name.c_str(),
        [name](const nb::kwargs& options) {
          MetricChoice choice{name, numbers_from(options)};
          metrics::make_metric(name, choice.options);
          return choice;
        },
        "options"_a);
  }
}

}  // namespace thalweg::python
