// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "engine_calls.h"
#include "model/classification.h"
#include "ops/ids.h"
#include "thalweg/data.h"
#include "thalweg/data/cache.h"
#include "thalweg/data/idx.h"
#include "thalweg/data/metadata.h"
#include "thalweg/data/views.h"
#include "thalweg/fit_data.h"
#include "thalweg/stored_types.h"
#include "training.h"

namespace thalweg::python {
namespace {

using data::Dataset;
using Arrays = std::vector<Tensor>;

/// Samples that a Python function makes: it gets a list of numbers and returns the inputs and the targets of these
/// samples, a list of arrays each.
class FunctionDataset : public Dataset {
 public:
  FunctionDataset(const nb::object& fetch, int64_t size) : fetch_(shared_with_engine(fetch)), size_(size) {
    if (size <= 0) raise_input_error("the data hold no sample");
    const int64_t first = 0;
    const auto [inputs, targets] = call({&first, 1});
    inputs_ = types_of(inputs);
    targets_ = types_of(targets);
  }

  int64_t size() const override { return size_; }
  std::vector<TensorType> input_types() const override { return inputs_; }
  std::vector<TensorType> target_types() const override { return targets_; }

  void read(std::span<const int64_t> indices, const data::Draw& /*draw*/, const data::Batch& batch,
            int64_t row) const override {
    const nb::gil_scoped_acquire gil;
    const auto [inputs, targets] = call(indices);
    const auto count = static_cast<int64_t>(indices.size());
    copy(inputs, inputs_, batch.inputs, row, count);
    copy(targets, targets_, batch.targets, row, count);
  }

 private:
  std::pair<Arrays, Arrays> call(std::span<const int64_t> indices) const {
    const nb::object fetched = (*fetch_)(nb::cast(std::vector<int64_t>(indices.begin(), indices.end())));
    const auto tensors = [](nb::handle arrays) {
      Arrays result;
      for (const nb::handle array : arrays) result.push_back(to_tensor(array));
      return result;
    };
    return {tensors(fetched[0]), tensors(fetched[1])};
  }

  static std::vector<TensorType> types_of(const Arrays& arrays) {
    std::vector<TensorType> types;
    for (const Tensor& array : arrays) {
      if (array.shape().rank() == 0) raise_input_error("a batch is a single number; it needs a row for each sample");
      types.push_back(array.type());
      types.back().shape[0] = kFree;
    }
    return types;
  }

  static void copy(const Arrays& from, const std::vector<TensorType>& types, const Arrays& to, int64_t row,
                   int64_t count) {
    if (from.size() != types.size())
      raise_input_error("the data gave ", from.size(), " arrays, at first ", types.size());
    for (size_t i = 0; i < from.size(); ++i) {
      const Tensor target = to[i].rows(row, row + count);
      if (from[i].type() != target.type()) {
        raise_input_error("the data gave ", from[i].type(), " where ", target.type(), " was expected: samples differ");
      }
      std::memcpy(target.raw(), from[i].raw(), target.num_bytes());
    }
  }

  std::shared_ptr<nb::object> fetch_;
  int64_t size_;
  std::vector<TensorType> inputs_, targets_;
};

/// Of a list or tuple of arrays, or of one array.
Arrays to_tensors(nb::handle given) {
  const bool several = PyList_Check(given.ptr()) != 0 || PyTuple_Check(given.ptr()) != 0;
  if (!several) return {to_tensor(given)};
  Arrays tensors;
  for (const nb::handle array : given) tensors.push_back(to_tensor(array));
  return tensors;
}

std::vector<std::pair<std::string, Shape>> described(const std::vector<TensorType>& types) {
  std::vector<std::pair<std::string, Shape>> result;
  for (const TensorType& type : types) result.emplace_back(numpy_name(type.dtype), type.shape);
  return result;
}

/// Inputs and targets of some samples.
std::pair<Arrays, Arrays> fetch(const Dataset& dataset, const std::vector<int64_t>& indices) {
  const data::Batch batch = dataset.fetch(indices);
  return {batch.inputs, batch.targets};
}

void bind_skipped(nb::module_& m) {
  using data::SkippedSamples;
  using State = std::tuple<int64_t, std::vector<std::string>>;
  nb::class_<SkippedSamples>(m, "SkippedSamples", "Samples that could not be read and were left out.")
      .def_ro("count", &SkippedSamples::count, "One that came up in several epochs counts as often.")
      .def_ro("reasons", &SkippedSamples::reasons, "Why, of the first few, with their paths.")
      .def("__len__", [](const SkippedSamples& self) { return self.count; })
      .def("__str__", [](const SkippedSamples& self) { return to_string(self); })
      .def("__getstate__",
           [](const SkippedSamples& self) {
             return State{self.count, self.reasons};
           })
      .def("__setstate__", [](SkippedSamples& self, const State& state) {
        new (&self) SkippedSamples{std::get<0>(state), std::get<1>(state)};
      });
}

data::UnevenShards uneven_from(const std::string& name) {
  if (name == "keep") return data::UnevenShards::kKeep;
  if (name == "drop") return data::UnevenShards::kDrop;
  if (name == "pad") return data::UnevenShards::kPad;
  raise_input_error("uneven is '", name, "', not keep, drop or pad");
}

void bind_views(nb::module_& m) {
  nb::class_<data::Subset, Dataset>(m, "Subset", "Samples chosen by number.")
      .def(
          "__init__",
          [](data::Subset* self, std::shared_ptr<Dataset> source, std::vector<int64_t> indices) {
            new (self) data::Subset(std::move(source), std::move(indices));
          },
          "source"_a, "indices"_a);
  nb::class_<data::Concat, Dataset>(m, "Concat", "The samples of each source in turn.")
      .def(
          "__init__",
          [](data::Concat* self, const std::vector<std::shared_ptr<Dataset>>& sources) {
            new (self) data::Concat({sources.begin(), sources.end()});
          },
          "sources"_a);
  nb::class_<data::Shard, Dataset>(m, "Shard", R"(The share of worker `rank` of `world`: rank, rank + world, ...

`uneven` says what becomes of the last few samples if the shares would differ in size: "keep" them, "drop" them, or
"pad" the smaller shares with some of the first.)")
      .def(
          "__init__",
          [](data::Shard* self, std::shared_ptr<Dataset> source, int64_t rank, int64_t world,
             const std::optional<std::string>& uneven) {
            new (self) data::Shard(uneven ? data::Shard(std::move(source), rank, world, uneven_from(*uneven))
                                          : data::Shard(std::move(source), rank, world));
          },
          "source"_a, "rank"_a, "world"_a, "uneven"_a = nb::none());
  nb::class_<data::Mix, Dataset>(m, "Mix", "`size` samples, of each source in proportion to its weight.")
      .def(
          "__init__",
          [](data::Mix* self, const std::vector<std::shared_ptr<Dataset>>& sources, const std::vector<double>& weights,
             int64_t size, uint64_t seed) {
            new (self) data::Mix({sources.begin(), sources.end()}, weights, size, seed);
          },
          "sources"_a, "weights"_a, "size"_a, "seed"_a = 0);
  nb::class_<data::Cached, Dataset>(m, "Cached", R"(Another dataset's samples, kept as they came out the first time.

Up to `memory_bytes` stay in memory, then up to `disk_bytes` in a file of `directory`; the rest is read again.)")
      .def(
          "__init__",
          [](data::Cached* self, std::shared_ptr<Dataset> source, int64_t memory_bytes, int64_t disk_bytes,
             const std::string& directory) {
            new (self) data::Cached(std::move(source), {memory_bytes, disk_bytes, directory});
          },
          "source"_a, "memory_bytes"_a, "disk_bytes"_a = 0, "directory"_a = "");
}

void bind_files(nb::module_& m) {
  m.def(
      "read_mnist",
      [](const std::string& directory) {
        data::Mnist mnist = data::read_mnist(directory);
        return std::make_pair(std::make_shared<data::TensorDataset>(std::move(mnist.train)),
                              std::make_shared<data::TensorDataset>(std::move(mnist.test)));
      },
      "directory"_a, nb::call_guard<nb::gil_scoped_release>(), "The training and the test set of the MNIST digits.");
}

template <typename Source>
nb::object predict(Model& model, const Source& source, std::optional<int64_t> batch_size) {
  const Arrays outputs = call_engine(
      [&] { return batch_size ? predict_in_batches(model, source, *batch_size) : predict_in_batches(model, source); });
  return outputs.size() == 1 ? to_numpy(outputs[0]) : nb::cast(outputs);
}

void bind_fitting(nb::module_& m) {
  m.def(
      "join_columns",
      [](const std::vector<std::pair<std::string, Tensor>>& columns) {
        std::vector<NamedColumn> named;
        for (const auto& [name, values] : columns) named.push_back({name, values});
        return join_columns(named);
      },
      "columns"_a, nb::call_guard<nb::gil_scoped_release>());
  m.def(
      "as_array",
      [](nb::handle given, const std::string& what) {
        try {
          const Tensor array = to_tensor(given);
          if (stored::is_object(array.dtype())) raise_input_error(what, ": holds texts, not numbers");
          return to_numpy(array);
        } catch (const nb::builtin_exception& error) {
          raise_input_error(what, ": ", error.what());
        }
      },
      "given"_a.none(), "what"_a, "An array of numbers, whatever it was; InputError names `what` if it is none.");
  m.def("fit_input", fit_input, "given"_a, "input"_a, "columns"_a);
  m.def(
      "fit_target",
      [](const Tensor& given, const Graph& graph, nb::handle loss) {
        return fit_target(given, graph, loss_from(loss));
      },
      "given"_a, "graph"_a, "loss"_a.none());
  m.def("predict", predict<Dataset>, "model"_a, "data"_a, "batch_size"_a = nb::none());
  m.def("predict", predict<Arrays>, "model"_a, "inputs"_a, "batch_size"_a = nb::none());
  m.def(
      "probabilities",
      [](const Model& model, const Tensor& scores, bool probabilities) {
        return to_numpy(classify(scores, probabilities ? op::kSigmoid : model.outputs().at(0).made_by).probabilities);
      },
      "model"_a, "scores"_a, "probabilities"_a = false,
      "Of the classes, by the columns of the model's first output, which are probabilities already if the model ends "
      "so "
      "or the caller says so. One column speaks for the second of two classes.");
  m.def(
      "class_names_metadata",
      [](const std::vector<std::string>& names) { return data::to_properties({.class_names = names}); }, "names"_a,
      "For the file of a model whose output has a column for each of these: save(path, metadata=...).");
  m.def(
      "class_names_from_metadata",
      [](const std::map<std::string, std::string>& properties) { return data::metadata_from(properties).class_names; },
      "metadata"_a, "Of the columns of the first output; empty if the file does not say them.");
  m.def("require_same_rows", require_same_rows, "tensors"_a, "names"_a);
}

}  // namespace

void bind_datasets(nb::module_& module) {
  auto m = module.def_submodule("data", "Where samples come from.");
  nb::class_<Dataset>(m, "Dataset", "Samples that can be asked for by number.")
      .def("__len__", &Dataset::size)
      .def_prop_ro(
          "input_types", [](const Dataset& self) { return described(self.input_types()); },
          "Element type and shape of each input; None is the batch.")
      .def_prop_ro("target_types", [](const Dataset& self) { return described(self.target_types()); })
      .def_prop_ro(
          "metadata", [](const Dataset& self) { return data::to_properties(data::metadata_of(self)); },
          "What the file of a model has to say that gets such images or lines of text: how they become its input, "
          "without "
          "chance, and the names of the classes. An estimator that was fitted to them saves it by itself.")
      .def("fetch", fetch, "indices"_a, nb::call_guard<nb::gil_scoped_release>(),
           "Inputs and targets of these samples, a list of arrays each.");
  nb::class_<data::TensorDataset, Dataset>(m, "TensorDataset", "Arrays whose row i is sample i; they are not copied.")
      .def(
          "__init__",
          [](data::TensorDataset* self, nb::handle inputs, nb::handle targets) {
            new (self) data::TensorDataset(to_tensors(inputs), to_tensors(targets));
          },
          "inputs"_a, "targets"_a = nb::make_tuple(), "A list of arrays each, or one array.");
  nb::class_<FunctionDataset, Dataset>(m, "FunctionDataset", R"(Samples that a function makes.

fetch(indices) gets a list of numbers and returns the inputs and the targets of these samples, a list of arrays each.)")
      .def(nb::init<nb::object, int64_t>(), "fetch"_a, "size"_a);
  bind_skipped(m);
  bind_views(m);
  bind_images(m);
  bind_texts(m);
  bind_features(m);
  bind_files(m);
  bind_fitting(m);
}

}  // namespace thalweg::python
