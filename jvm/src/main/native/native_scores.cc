// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The methods of io.thalweg.jni.NativeScores.
#include "jni_support.h"
#include "thalweg/c_scores.h"

using namespace thalweg::jni;

namespace {

/// [rows, columns] over the memory of a direct buffer; [rows] if there is one column. Null, with an exception pending,
/// if it is too small.
const tw_tensor* matrix(JNIEnv* env, jobject buffer, tw_dtype dtype, jlong element_bytes, const int64_t (&dims)[2],
                        tw_tensor* tensor) {
  void* memory = memory_of(env, buffer, dims[0] * dims[1] * element_bytes, "a batch of scores");
  if (memory == nullptr) return nullptr;
  *tensor = {dtype, dims[1] == 1 ? 1 : 2, dims, memory};
  return tensor;
}

}  // namespace

extern "C" {

JNIEXPORT jlong JNICALL Java_io_thalweg_jni_NativeScores_create(JNIEnv* env, jclass, jstring metrics, jstring loss) {
  return guarded<jlong>(env, 0, [&]() -> jlong {
    tw_scores* scores = nullptr;
    const std::string loss_name = text_from(env, loss);
    const tw_status status =
        tw_scores_create(text_from(env, metrics).c_str(), loss != nullptr ? loss_name.c_str() : nullptr, &scores);
    return succeeded(env, status) ? handle_of(scores) : 0;
  });
}

JNIEXPORT void JNICALL Java_io_thalweg_jni_NativeScores_add(JNIEnv* env, jclass, jlong scores, jlong rows,
                                                            jobject outputs, jlong output_columns, jobject targets,
                                                            jlong target_columns) {
  const int64_t output_dims[] = {rows, output_columns};
  const int64_t target_dims[] = {rows, target_columns};
  tw_tensor output = {};
  tw_tensor target = {};
  if (matrix(env, outputs, TW_F32, sizeof(float), output_dims, &output) == nullptr ||
      matrix(env, targets, TW_F64, sizeof(double), target_dims, &target) == nullptr) {
    return;
  }
  output.rank = 2;
  succeeded(env, tw_scores_add(object_from<tw_scores>(scores), &output, &target));
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
