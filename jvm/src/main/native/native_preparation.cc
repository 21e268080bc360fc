// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The methods of io.thalweg.jni.NativePreparation.
#include <vector>

#include "jni_support.h"
#include "thalweg/c_preparation.h"

using namespace thalweg::jni;

namespace {

constexpr jlong kNumberBytes = 8;

/// Columns over the memory of direct buffers; `texts` keeps the names that they point to. Empty, with an exception
/// pending, if a buffer is smaller than `rows` need.
std::vector<tw_row_column> columns_from(JNIEnv* env, jobjectArray names, jintArray dtypes, jobjectArray values,
                                        jobjectArray offsets, jobjectArray missing, jlong rows,
                                        std::vector<std::string>* texts) {
  const jsize count = env->GetArrayLength(names);
  std::vector<jint> types(static_cast<size_t>(count));
  env->GetIntArrayRegion(dtypes, 0, count, types.data());
  texts->reserve(static_cast<size_t>(count));
  std::vector<tw_row_column> columns;
  for (jsize i = 0; i < count && !env->ExceptionCheck(); ++i) {
    auto* name = static_cast<jstring>(env->GetObjectArrayElement(names, i));
    jobject value = env->GetObjectArrayElement(values, i);
    jobject offset = env->GetObjectArrayElement(offsets, i);
    jobject absent = env->GetObjectArrayElement(missing, i);
    texts->push_back(text_from(env, name));
    tw_row_column column = {texts->back().c_str(), types[static_cast<size_t>(i)], nullptr, nullptr, nullptr};
    jlong bytes = rows * kNumberBytes;
    if (offset != nullptr) {
      const void* ends = memory_of(env, offset, (rows + 1) * kNumberBytes, "the offsets of texts");
      if (ends == nullptr) return {};
      column.offsets = static_cast<const int64_t*>(ends);
      bytes = column.offsets[rows];
    }
    column.values = memory_of(env, value, bytes, "the values of a column");
    if (column.values == nullptr) return {};
    if (absent != nullptr) {
      column.missing = static_cast<const uint8_t*>(memory_of(env, absent, rows, "which values a column lacks"));
      if (column.missing == nullptr) return {};
    }
    columns.push_back(column);
    env->DeleteLocalRef(name);
    env->DeleteLocalRef(value);
    env->DeleteLocalRef(offset);
    env->DeleteLocalRef(absent);
  }
  return columns;
}

}  // namespace

extern "C" {

JNIEXPORT jstring JNICALL Java_io_thalweg_jni_NativePreparation_describe(JNIEnv* env, jclass, jlong model) {
  tw_result* result = nullptr;
  return succeeded(env, tw_model_description(object_from<tw_model>(model), &result)) ? text_and_free(env, result)
                                                                                     : nullptr;
}

JNIEXPORT jlong JNICALL Java_io_thalweg_jni_NativePreparation_create(JNIEnv* env, jclass, jstring description,
                                                                     jstring columns) {
  return guarded<jlong>(env, 0, [&]() -> jlong {
    const std::string named = text_from(env, columns);
    tw_preparation* preparation = nullptr;
    const tw_status status = tw_preparation_create(text_from(env, description).c_str(),
                                                   columns == nullptr ? nullptr : named.c_str(), &preparation);
    return succeeded(env, status) ? handle_of(preparation) : 0;
  });
}

JNIEXPORT void JNICALL Java_io_thalweg_jni_NativePreparation_free(JNIEnv*, jclass, jlong preparation) {
  tw_preparation_free(object_from<tw_preparation>(preparation));
}

JNIEXPORT jstring JNICALL Java_io_thalweg_jni_NativePreparation_needs(JNIEnv* env, jclass, jlong preparation) {
  tw_result* result = nullptr;
  return succeeded(env, tw_preparation_needs(object_from<tw_preparation>(preparation), &result))
             ? text_and_free(env, result)
             : nullptr;
}

JNIEXPORT jlong JNICALL Java_io_thalweg_jni_NativePreparation_run(JNIEnv* env, jclass, jlong preparation,
                                                                  jobjectArray names, jintArray dtypes,
                                                                  jobjectArray values, jobjectArray offsets,
                                                                  jobjectArray missing, jlong rows, jlong filled) {
  return guarded<jlong>(env, 0, [&]() -> jlong {
    std::vector<std::string> texts;
    const std::vector<tw_row_column> columns = columns_from(env, names, dtypes, values, offsets, missing, rows, &texts);
    if (env->ExceptionCheck()) return 0;
    tw_result* inputs = nullptr;
    const tw_status status = tw_preparation_run(object_from<tw_preparation>(preparation), columns.data(),
                                                columns.size(), rows, filled, &inputs);
    return succeeded(env, status) ? handle_of(inputs) : 0;
  });
}

}  // extern "C"
