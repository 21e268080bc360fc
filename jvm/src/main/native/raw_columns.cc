// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "raw_columns.h"

namespace thalweg::jni {
namespace {

constexpr jlong kNumberBytes = 8;

}  // namespace

std::vector<tw_row_column> columns_from(JNIEnv* env, const RawArrays& arrays, jlong rows,
                                        std::vector<std::string>* texts) {
  const jsize count = env->GetArrayLength(arrays.names);
  std::vector<jint> types(static_cast<size_t>(count));
  env->GetIntArrayRegion(arrays.dtypes, 0, count, types.data());
  texts->reserve(static_cast<size_t>(count));
  std::vector<tw_row_column> columns;
  for (jsize i = 0; i < count && !env->ExceptionCheck(); ++i) {
    auto* name = static_cast<jstring>(env->GetObjectArrayElement(arrays.names, i));
    jobject value = env->GetObjectArrayElement(arrays.values, i);
    jobject offset = env->GetObjectArrayElement(arrays.offsets, i);
    jobject absent = env->GetObjectArrayElement(arrays.missing, i);
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

}  // namespace thalweg::jni
