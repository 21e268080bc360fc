// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The methods of io.thalweg.jni.NativeModel.
#include <vector>

#include "jni_support.h"

using namespace thalweg::jni;

namespace {

/// Asks for one input or output; false, with an exception pending, if there is none of this number.
bool find_value(JNIEnv* env, jlong model, jboolean of_inputs, jint index, tw_value_info* info) {
  const auto find = of_inputs != JNI_FALSE ? tw_model_input : tw_model_output;
  return succeeded(env, find(object_from<tw_model>(model), static_cast<size_t>(index), info));
}

/// Tensors over the memory of direct buffers; `dims` holds what they point to. Empty, with an exception pending, if an
/// argument is not as Tensor.java makes it.
std::vector<tw_tensor> tensors_from(JNIEnv* env, jobjectArray buffers, jintArray dtypes, jobjectArray shapes,
                                    std::vector<std::vector<int64_t>>* dims) {
  const jsize count = env->GetArrayLength(buffers);
  std::vector<tw_tensor> tensors;
  std::vector<jint> types(static_cast<size_t>(count));
  env->GetIntArrayRegion(dtypes, 0, count, types.data());
  dims->resize(static_cast<size_t>(count));
  for (jsize i = 0; i < count && !env->ExceptionCheck(); ++i) {
    jobject buffer = env->GetObjectArrayElement(buffers, i);
    auto* shape = static_cast<jlongArray>(env->GetObjectArrayElement(shapes, i));
    if (buffer == nullptr || shape == nullptr || env->GetDirectBufferAddress(buffer) == nullptr) {
      throw_error(env, "an input is no direct buffer, or has no shape");
      return {};
    }
    std::vector<int64_t>& sizes = (*dims)[static_cast<size_t>(i)];
    sizes.resize(static_cast<size_t>(env->GetArrayLength(shape)));
    env->GetLongArrayRegion(shape, 0, static_cast<jsize>(sizes.size()), reinterpret_cast<jlong*>(sizes.data()));
    tensors.push_back({types[static_cast<size_t>(i)], static_cast<int32_t>(sizes.size()), sizes.data(),
                       env->GetDirectBufferAddress(buffer)});
    env->DeleteLocalRef(buffer);
    env->DeleteLocalRef(shape);
  }
  return tensors;
}

}  // namespace

extern "C" {

JNIEXPORT jstring JNICALL Java_io_thalweg_jni_NativeModel_version(JNIEnv* env, jclass) {
  return text_to(env, tw_version());
}

JNIEXPORT jstring JNICALL Java_io_thalweg_jni_NativeModel_system(JNIEnv* env, jclass) {
  tw_result* result = nullptr;
  if (!succeeded(env, tw_system(&result))) return nullptr;
  return text_and_free(env, result);
}

JNIEXPORT jlong JNICALL Java_io_thalweg_jni_NativeModel_load(JNIEnv* env, jclass, jstring path, jint threads,
                                                             jint precision) {
  return guarded<jlong>(env, 0, [&]() -> jlong {
    tw_options options = {};
    options.threads = threads;
    options.precision = precision;
    tw_model* model = nullptr;
    if (!succeeded(env, tw_model_load(text_from(env, path).c_str(), &options, &model))) return 0;
    return handle_of(model);
  });
}

JNIEXPORT jstring JNICALL Java_io_thalweg_jni_NativeModel_externalFiles(JNIEnv* env, jclass, jstring path) {
  return guarded<jstring>(env, nullptr, [&]() -> jstring {
    tw_result* result = nullptr;
    const tw_status status = tw_model_external_files(text_from(env, path).c_str(), &result);
    return succeeded(env, status) ? text_and_free(env, result) : nullptr;
  });
}

JNIEXPORT void JNICALL Java_io_thalweg_jni_NativeModel_free(JNIEnv*, jclass, jlong model) {
  tw_model_free(object_from<tw_model>(model));
}

JNIEXPORT jint JNICALL Java_io_thalweg_jni_NativeModel_count(JNIEnv*, jclass, jlong model, jboolean of_inputs) {
  const auto* object = object_from<tw_model>(model);
  return static_cast<jint>(of_inputs != JNI_FALSE ? tw_model_num_inputs(object) : tw_model_num_outputs(object));
}

JNIEXPORT jstring JNICALL Java_io_thalweg_jni_NativeModel_name(JNIEnv* env, jclass, jlong model, jboolean of_inputs,
                                                               jint index) {
  tw_value_info info = {};
  return find_value(env, model, of_inputs, index, &info) ? text_to(env, info.name) : nullptr;
}

JNIEXPORT jint JNICALL Java_io_thalweg_jni_NativeModel_dtype(JNIEnv* env, jclass, jlong model, jboolean of_inputs,
                                                             jint index) {
  tw_value_info info = {};
  return find_value(env, model, of_inputs, index, &info) ? info.dtype : TW_UNKNOWN;
}

JNIEXPORT jlongArray JNICALL Java_io_thalweg_jni_NativeModel_dims(JNIEnv* env, jclass, jlong model, jboolean of_inputs,
                                                                  jint index) {
  tw_value_info info = {};
  if (!find_value(env, model, of_inputs, index, &info) || info.rank < 0) return nullptr;
  return longs_to(env, info.dims, info.rank);
}

JNIEXPORT jstring JNICALL Java_io_thalweg_jni_NativeModel_metadata(JNIEnv* env, jclass, jlong model, jstring key) {
  return guarded<jstring>(env, nullptr, [&] {
    return text_to(env, tw_model_metadata(object_from<tw_model>(model), text_from(env, key).c_str()));
  });
}

JNIEXPORT jlong JNICALL Java_io_thalweg_jni_NativeModel_run(JNIEnv* env, jclass, jlong model, jobjectArray buffers,
                                                            jintArray dtypes, jobjectArray shapes) {
  return guarded<jlong>(env, 0, [&]() -> jlong {
    std::vector<std::vector<int64_t>> dims;
    const std::vector<tw_tensor> tensors = tensors_from(env, buffers, dtypes, shapes, &dims);
    if (env->ExceptionCheck()) return 0;
    tw_result* result = nullptr;
    if (!succeeded(env, tw_model_run(object_from<tw_model>(model), tensors.data(), tensors.size(), &result))) return 0;
    return handle_of(result);
  });
}

JNIEXPORT jlong JNICALL Java_io_thalweg_jni_NativeModel_classify(JNIEnv* env, jclass, jlong model, jlong result,
                                                                 jint output) {
  tw_result* classes = nullptr;
  const tw_status status = tw_model_classify(object_from<tw_model>(model), object_from<tw_result>(result),
                                             static_cast<size_t>(output), &classes);
  return succeeded(env, status) ? handle_of(classes) : 0;
}

}  // extern "C"
