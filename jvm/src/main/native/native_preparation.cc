// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The methods of io.thalweg.jni.NativePreparation.
#include "raw_columns.h"

using namespace thalweg::jni;

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
    const std::vector<tw_row_column> columns =
        columns_from(env, {names, dtypes, values, offsets, missing}, rows, &texts);
    if (env->ExceptionCheck()) return 0;
    tw_result* inputs = nullptr;
    const tw_status status = tw_preparation_run(object_from<tw_preparation>(preparation), columns.data(),
                                                columns.size(), rows, filled, &inputs);
    return succeeded(env, status) ? handle_of(inputs) : 0;
  });
}

}  // extern "C"
