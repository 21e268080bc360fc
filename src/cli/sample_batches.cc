// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "base/warning.h"
#include "cli/samples.h"

namespace thalweg::cli {
namespace {

/// The number of rows that some model insists on; 0 if any will do.
int64_t fixed_rows(const std::vector<const Model*>& models) {
  for (const Model* model : models) {
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

bool next_batch(data::Loader& loader, const SampleOptions& options, data::LoadedBatch& loaded) {
  try {
    return loader.next(loaded);
  } catch (const data::SampleError& error) {
    if (options.skips_bad_samples()) throw;
    raise(error.what(), "; --bad-samples skip leaves out what cannot be read");
  }
}

}  // namespace

void for_each_batch(const Samples& samples, const std::vector<const Model*>& models, const SampleOptions& options,
                    const std::function<void(const SampleBatch&)>& use) {
  const int64_t all = samples.dataset->size();
  if (all == 0) return;
  const int64_t fixed = fixed_rows(models);
  const int64_t rows = batch_size(fixed, all, options.batch);
  const data::BatchSampler sampler(all, {.batch_size = rows, .shuffle = false});
  data::Loader loader(*samples.dataset, sampler,
                      {.max_batches = sampler.batches_per_epoch(),
                       .bad = options.skips_bad_samples() ? data::BadSample::kSkip : data::BadSample::kFail});
  data::LoadedBatch loaded;
  for (int64_t first = 0; next_batch(loader, options, loaded); first += loaded.batch.size()) {
    SampleBatch one{first, loaded.batch.size(), loaded.samples, loaded.batch.inputs};
    if (one.rows == 0) continue;
    if (one.rows < rows && fixed > 0) {
      for (Tensor& input : one.inputs) input = padded(input, rows);
    }
    use(one);
  }
  if (loader.skipped().count > 0) warn_once(to_string(loader.skipped()));
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
