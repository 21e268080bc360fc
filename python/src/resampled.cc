// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/views.h"
#include "training.h"

namespace thalweg::python {
namespace {

/// Samples of another dataset that a Python function chooses for each epoch.
class Resampled : public data::Dataset {
 public:
  Resampled(std::shared_ptr<Dataset> source, const nb::object& choose, int64_t size)
      : source_(std::move(source)), choose_(shared_with_engine(choose)), size_(size) {
    if (size <= 0) raise_input_error("the data hold no sample");
  }

  int64_t size() const override { return size_; }
  std::vector<TensorType> input_types() const override { return source_->input_types(); }
  std::vector<TensorType> target_types() const override { return source_->target_types(); }
  bool is_costly() const override { return source_->is_costly(); }

  void read(std::span<const int64_t> indices, const data::Draw& draw, const data::Batch& batch,
            int64_t row) const override {
    source_->read(chosen(indices, draw.epoch), draw, batch, row);
  }

 private:
  std::vector<int64_t> chosen(std::span<const int64_t> positions, int64_t epoch) const {
    const nb::gil_scoped_acquire gil;
    const auto numbers = nb::cast<std::vector<int64_t>>(
        (*choose_)(epoch, nb::cast(std::vector<int64_t>(positions.begin(), positions.end()))));
    if (numbers.size() != positions.size()) {
      raise_input_error("for ", positions.size(), " positions ", numbers.size(), " samples were chosen");
    }
    for (const int64_t number : numbers) {
      if (number < 0 || number >= source_->size()) {
        raise_input_error("sample ", number, " was chosen of data that hold ", source_->size());
      }
    }
    return numbers;
  }

  std::shared_ptr<Dataset> source_;
  std::shared_ptr<nb::object> choose_;
  int64_t size_;
};

}  // namespace

void bind_resampled(nb::module_& data) {
  nb::class_<Resampled, data::Dataset>(data, "Resampled",
                                       R"(`size` samples of another dataset, chosen anew for each epoch.

choose(epoch, positions) gets the number of the epoch, from 0, and a list of places in it, and returns the number of the
sample at each. For the same epoch it must say the same again: places are asked for in any order, and from several threads.

>>> import numpy, thalweg
>>> whole = thalweg.data.TensorDataset([numpy.arange(10.0)])
>>> odd = thalweg.data.Resampled(whole, lambda epoch, positions: [2 * place + 1 for place in positions], 5)
>>> odd.fetch([0, 1, 4])[0][0]
array([1., 3., 9.]))")
      .def(nb::init<std::shared_ptr<data::Dataset>, nb::object, int64_t>(), "source"_a, "choose"_a, "size"_a);
}

}  // namespace thalweg::python
