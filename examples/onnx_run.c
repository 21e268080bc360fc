/* Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0 */
/* Runs an ONNX model from C: every input is filled with 1, and the first numbers of each output are printed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "thalweg/c_api.h"

#define MAX_INPUTS 16
#define MAX_RANK 8

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, tw_last_error());
  return 1;
}

/* Sizes that the model leaves open become 1. Only f32 inputs are made here. */
static int make_input(const tw_value_info* info, int64_t* dims, tw_tensor* tensor) {
  size_t count = 1;
  if (info->dtype != TW_F32 || info->rank < 0 || info->rank > MAX_RANK) {
    fprintf(stderr, "input %s is not an f32 tensor of known rank\n", info->name);
    return 1;
  }
  for (int32_t d = 0; d < info->rank; ++d) {
    dims[d] = info->dims[d] < 0 ? 1 : info->dims[d];
    count *= (size_t)dims[d];
  }
  float* values = malloc(count * sizeof(float));
  if (values == NULL) return 1;
  for (size_t i = 0; i < count; ++i) values[i] = 1.0F;
  tensor->dtype = TW_F32;
  tensor->rank = info->rank;
  tensor->dims = dims;
  tensor->data = values;
  printf("input %s\n", info->name);
  return 0;
}

static void print_output(const tw_model* model, const tw_result* result, size_t index) {
  tw_value_info info;
  tw_tensor tensor;
  if (tw_model_output(model, index, &info) != TW_OK || tw_result_tensor(result, index, &tensor) != TW_OK) {
    fail("output");
    return;
  }
  int64_t count = 1;
  printf("output %s [", info.name);
  for (int32_t d = 0; d < tensor.rank; ++d) {
    printf(d > 0 ? ",%" PRId64 : "%" PRId64, tensor.dims[d]);
    count *= tensor.dims[d];
  }
  printf("]:");
  if (tensor.dtype == TW_F32) {
    for (int64_t i = 0; i < count && i < 4; ++i) printf(" %g", ((const float*)tensor.data)[i]);
  }
  printf("\n");
}

int main(int argc, char** argv) {
  tw_model* model = NULL;
  tw_result* result = NULL;
  tw_options options;
  tw_tensor inputs[MAX_INPUTS];
  int64_t dims[MAX_INPUTS][MAX_RANK];
  memset(&options, 0, sizeof options);
  /* Whoever made the file decides what it asks for. */
  options.max_memory = (uint64_t)4 << 30;
  options.max_seconds = 60.0;
  if (argc != 2) {
    fprintf(stderr, "usage: %s MODEL.onnx\n", argv[0]);
    return 2;
  }
  if (tw_model_load(argv[1], &options, &model) != TW_OK) return fail("load");
  const size_t num_inputs = tw_model_num_inputs(model);
  for (size_t i = 0; i < num_inputs; ++i) {
    tw_value_info info;
    if (i >= MAX_INPUTS || tw_model_input(model, i, &info) != TW_OK || make_input(&info, dims[i], &inputs[i]) != 0) {
      return 1;
    }
  }
  if (tw_model_run(model, inputs, num_inputs, &result) != TW_OK) return fail("run");
  for (size_t i = 0; i < tw_result_num_tensors(result); ++i) print_output(model, result, i);
  tw_result_free(result);
  for (size_t i = 0; i < num_inputs; ++i) free(inputs[i].data);
  tw_model_free(model);
  return 0;
}
