// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "cli/samples.h"

namespace thalweg::cli {
namespace {

/// The number of rows that some model insists on; 0 if any will do.
int64_t fixed_rows(const std::vector<const InferenceModel*>& models) {
  for (const InferenceModel* model : models) {
    for (const ValueDescription& input : model->inputs()) {
      if (input.shape.has_value() && input.shape->rank() > 0 && (*input.shape)[0] != kFree) return (*input.shape)[0];
    }
  }
  return 0;
}

int64_t batch_size(int64_t fixed, int64_t samples, int64_t wanted) {
  constexpr int64_t kDefault = 16;
  if (fixed > 0 && wanted > 0 && wanted != fixed) {
    wrong_usage("--batch ", wanted, ": the model takes batches of ", fixed, " only");
  }
  return fixed > 0 ? fixed : std::min(samples, wanted > 0 ? wanted : kDefault);
}

/// With copies of the last row after it.
Tensor padded(const Tensor& rows, int64_t count) {
  Shape shape = rows.shape();
  const int64_t have = shape[0];
  shape[0] = count;
  Tensor result(rows.dtype(), shape);
  const size_t row_bytes = rows.num_bytes() / static_cast<size_t>(have);
  auto* target = static_cast<char*>(result.raw());
  std::memcpy(target, rows.raw(), rows.num_bytes());
  for (int64_t i = have; i < count; ++i) {
    std::memcpy(target + static_cast<size_t>(i) * row_bytes, target + static_cast<size_t>(have - 1) * row_bytes,
                row_bytes);
  }
  return result;
}

}  // namespace

void for_each_batch(const Samples& samples, const std::vector<const InferenceModel*>& models, int64_t batch,
                    const std::function<void(const SampleBatch&)>& use) {
  const int64_t all = samples.dataset->size();
  if (all == 0) return;
  const int64_t fixed = fixed_rows(models);
  const int64_t rows = batch_size(fixed, all, batch);
  const data::BatchSampler sampler(all, {.batch_size = rows, .shuffle = false});
  data::Loader loader(*samples.dataset, sampler, {.max_batches = sampler.batches_per_epoch()});
  data::LoadedBatch loaded;
  for (int64_t first = 0; loader.next(loaded); first += loaded.batch.size()) {
    SampleBatch one{first, loaded.batch.size(), loaded.batch.inputs};
    if (one.rows < rows && fixed > 0) {
      for (Tensor& input : one.inputs) input = padded(input, rows);
    }
    use(one);
  }
}

std::vector<Tensor> outputs_of_sample(const std::vector<Tensor>& outputs,
                                      const std::vector<ValueDescription>& described, const SampleBatch& batch,
                                      int64_t row) {
  const int64_t all = batch.inputs.empty() ? batch.rows : batch.inputs[0].shape()[0];
  std::vector<Tensor> result;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Shape& shape = outputs[i].shape();
    if (shape.rank() > 0 && shape[0] == all) {
      const std::vector<int64_t> rest(shape.begin() + 1, shape.end());
      result.push_back(outputs[i].rows(row, row + 1).reshaped(Shape(rest)));
      continue;
    }
    TW_REQUIRE(all == 1, "output ", printable(described[i].name), " is ", shape.to_string(), " for ", all,
               " samples: which part belongs to which is not known; use --batch 1");
    result.push_back(outputs[i]);
  }
  return result;
}

}  // namespace thalweg::cli
