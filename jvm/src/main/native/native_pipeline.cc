// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The methods of io.thalweg.jni.NativePipeline.
#include <vector>

#include "jni_support.h"

using namespace thalweg::jni;

namespace {

/// Images one after another in `bytes`: image i ends where the next begins, at offsets[i + 1]. `names` keeps the texts
/// that the images point to. Empty, with an exception pending, if they are not all within the buffer.
std::vector<tw_image> images_from(JNIEnv* env, jobject bytes, jlongArray offsets, jobjectArray names, jintArray extents,
                                  std::vector<std::string>* texts) {
  const jsize count = env->GetArrayLength(names);
  std::vector<jlong> ends(static_cast<size_t>(count) + 1);
  std::vector<jint> sizes(static_cast<size_t>(count) * 3);
  env->GetLongArrayRegion(offsets, 0, count + 1, ends.data());
  env->GetIntArrayRegion(extents, 0, count * 3, sizes.data());
  if (env->ExceptionCheck()) return {};
  const auto* start = static_cast<const char*>(memory_of(env, bytes, ends.back(), "the files of images"));
  if (start == nullptr) return {};
  texts->reserve(static_cast<size_t>(count));
  std::vector<tw_image> images;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    if (ends[i] < 0 || ends[i + 1] < ends[i] || ends[i + 1] > ends.back()) {
      throw_error(env, "an image lies outside of the buffer");
      return {};
    }
    auto* name = static_cast<jstring>(env->GetObjectArrayElement(names, static_cast<jsize>(i)));
    texts->push_back(text_from(env, name));
    env->DeleteLocalRef(name);
    images.push_back({start + ends[i], static_cast<size_t>(ends[i + 1] - ends[i]), texts->back().c_str(), sizes[3 * i],
                      sizes[3 * i + 1], sizes[3 * i + 2]});
  }
  return images;
}

}  // namespace

extern "C" {

JNIEXPORT jlong JNICALL Java_io_thalweg_jni_NativePipeline_create(JNIEnv* env, jclass, jstring json, jint channels) {
  return guarded<jlong>(env, 0, [&]() -> jlong {
    tw_pipeline* pipeline = nullptr;
    if (!succeeded(env, tw_pipeline_create(text_from(env, json).c_str(), channels, &pipeline))) return 0;
    return handle_of(pipeline);
  });
}

JNIEXPORT void JNICALL Java_io_thalweg_jni_NativePipeline_free(JNIEnv*, jclass, jlong pipeline) {
  tw_pipeline_free(object_from<tw_pipeline>(pipeline));
}

JNIEXPORT jint JNICALL Java_io_thalweg_jni_NativePipeline_dtype(JNIEnv* env, jclass, jlong pipeline) {
  tw_value_info info = {};
  return succeeded(env, tw_pipeline_row(object_from<tw_pipeline>(pipeline), &info)) ? info.dtype : TW_UNKNOWN;
}

JNIEXPORT jlongArray JNICALL Java_io_thalweg_jni_NativePipeline_dims(JNIEnv* env, jclass, jlong pipeline) {
  tw_value_info info = {};
  if (!succeeded(env, tw_pipeline_row(object_from<tw_pipeline>(pipeline), &info))) return nullptr;
  return longs_to(env, info.dims, info.rank);
}

JNIEXPORT jstring JNICALL Java_io_thalweg_jni_NativePipeline_run(JNIEnv* env, jclass, jlong pipeline, jobject bytes,
                                                                 jlongArray offsets, jobjectArray names,
                                                                 jintArray extents, jint threads, jobject rows,
                                                                 jbyteArray failed) {
  return guarded<jstring>(env, nullptr, [&]() -> jstring {
    std::vector<std::string> texts;
    const std::vector<tw_image> images = images_from(env, bytes, offsets, names, extents, &texts);
    if (env->ExceptionCheck()) return nullptr;
    std::vector<uint8_t> bad(images.size());
    void* memory = memory_of(env, rows, 0, "the batch of images");
    if (memory == nullptr) return nullptr;
    const auto capacity = static_cast<size_t>(env->GetDirectBufferCapacity(rows));
    const tw_status status = tw_pipeline_run(object_from<tw_pipeline>(pipeline), images.data(), images.size(), threads,
                                             memory, capacity, bad.data());
    if (!succeeded(env, status)) return nullptr;
    env->SetByteArrayRegion(failed, 0, static_cast<jsize>(bad.size()), reinterpret_cast<const jbyte*>(bad.data()));
    for (const uint8_t one : bad) {
      if (one != 0) return text_to(env, tw_last_error());
    }
    return nullptr;
  });
}

}  // extern "C"
