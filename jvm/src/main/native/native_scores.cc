// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The methods of io.thalweg.jni.NativeScores.
#include <functional>
#include <numeric>
#include <vector>

#include "jni_support.h"
#include "thalweg/c_scores.h"

using namespace thalweg::jni;

namespace {

std::vector<int64_t> numbers_from(JNIEnv* env, jlongArray numbers) {
  std::vector<jlong> read(static_cast<size_t>(env->GetArrayLength(numbers)));
  env->GetLongArrayRegion(numbers, 0, static_cast<jsize>(read.size()), read.data());
  return {read.begin(), read.end()};
}

/// Rows of the same dimensions in the memory of a direct buffer.
struct RowTensor {
  RowTensor(JNIEnv* env, jobject buffer, tw_dtype dtype, jlong element_bytes, jlong rows, jlongArray row_dims)
      : dims(numbers_from(env, row_dims)) {
    dims.insert(dims.begin(), rows);
    const jlong elements = std::accumulate(dims.begin(), dims.end(), jlong{1}, std::multiplies<>());
    void* memory = memory_of(env, buffer, elements * element_bytes, "a batch of scores");
    tensor = {dtype, static_cast<int32_t>(dims.size()), dims.data(), memory};
  }

  std::vector<int64_t> dims;
  tw_tensor tensor = {};
};

}  // namespace

extern "C" {

JNIEXPORT jlong JNICALL Java_io_thalweg_jni_NativeScores_create(JNIEnv* env, jclass, jstring metrics, jstring loss,
                                                                jlongArray output_dims) {
  return guarded<jlong>(env, 0, [&]() -> jlong {
    tw_scores* scores = nullptr;
    const std::string loss_name = text_from(env, loss);
    const std::vector<int64_t> dims = numbers_from(env, output_dims);
    const tw_status status =
        tw_scores_create(text_from(env, metrics).c_str(), loss != nullptr ? loss_name.c_str() : nullptr, dims.data(),
                         static_cast<int32_t>(dims.size()), &scores);
    return succeeded(env, status) ? handle_of(scores) : 0;
  });
}

JNIEXPORT void JNICALL Java_io_thalweg_jni_NativeScores_add(JNIEnv* env, jclass, jlong scores, jlong rows,
                                                            jobject outputs, jlongArray output_dims, jobject targets,
                                                            jlongArray target_dims) {
  guarded<int>(env, 0, [&] {
    const RowTensor output(env, outputs, TW_F32, sizeof(float), rows, output_dims);
    if (env->ExceptionCheck()) return 0;
    const RowTensor target(env, targets, TW_F64, sizeof(double), rows, target_dims);
    if (!env->ExceptionCheck()) {
      succeeded(env, tw_scores_add(object_from<tw_scores>(scores), &output.tensor, &target.tensor));
    }
    return 0;
  });
}

JNIEXPORT jstring JNICALL Java_io_thalweg_jni_NativeScores_targets(JNIEnv* env, jclass, jstring loss,
                                                                   jlongArray output_dims) {
  return guarded<jstring>(env, nullptr, [&]() -> jstring {
    const std::vector<int64_t> dims = numbers_from(env, output_dims);
    tw_result* result = nullptr;
    const tw_status status =
        tw_scores_targets(text_from(env, loss).c_str(), dims.data(), static_cast<int32_t>(dims.size()), &result);
    return succeeded(env, status) ? text_and_free(env, result) : nullptr;
  });
}

JNIEXPORT jdoubleArray JNICALL Java_io_thalweg_jni_NativeScores_state(JNIEnv* env, jclass, jlong scores) {
  tw_result* result = nullptr;
  tw_tensor tensor = {};
  if (!succeeded(env, tw_scores_state(object_from<tw_scores>(scores), &result))) return nullptr;
  jdoubleArray numbers = nullptr;
  if (succeeded(env, tw_result_tensor(result, 0, &tensor))) {
    const auto count = static_cast<jsize>(tensor.dims[0]);
    numbers = env->NewDoubleArray(count);
    if (numbers != nullptr) env->SetDoubleArrayRegion(numbers, 0, count, static_cast<const jdouble*>(tensor.data));
  }
  tw_result_free(result);
  return numbers;
}

JNIEXPORT void JNICALL Java_io_thalweg_jni_NativeScores_merge(JNIEnv* env, jclass, jlong scores, jdoubleArray state) {
  jdouble* numbers = env->GetDoubleArrayElements(state, nullptr);
  if (numbers == nullptr) return;
  succeeded(env,
            tw_scores_merge(object_from<tw_scores>(scores), numbers, static_cast<size_t>(env->GetArrayLength(state))));
  env->ReleaseDoubleArrayElements(state, numbers, JNI_ABORT);
}

JNIEXPORT jstring JNICALL Java_io_thalweg_jni_NativeScores_values(JNIEnv* env, jclass, jlong scores) {
  tw_result* result = nullptr;
  if (!succeeded(env, tw_scores_values(object_from<tw_scores>(scores), &result))) return nullptr;
  return text_and_free(env, result);
}

JNIEXPORT void JNICALL Java_io_thalweg_jni_NativeScores_free(JNIEnv*, jclass, jlong scores) {
  tw_scores_free(object_from<tw_scores>(scores));
}

}  // extern "C"
