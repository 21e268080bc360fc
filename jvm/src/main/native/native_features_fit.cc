// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The methods of io.thalweg.jni.NativeFeaturesFit.
#include "raw_columns.h"

using namespace thalweg::jni;

extern "C" {

JNIEXPORT jlong JNICALL Java_io_thalweg_jni_NativeFeaturesFit_create(JNIEnv* env, jclass, jstring plan) {
  return guarded<jlong>(env, 0, [&]() -> jlong {
    tw_features_fit* fit = nullptr;
    return succeeded(env, tw_features_fit_create(text_from(env, plan).c_str(), &fit)) ? handle_of(fit) : 0;
  });
}

JNIEXPORT void JNICALL Java_io_thalweg_jni_NativeFeaturesFit_free(JNIEnv*, jclass, jlong fit) {
  tw_features_fit_free(object_from<tw_features_fit>(fit));
}

JNIEXPORT jstring JNICALL Java_io_thalweg_jni_NativeFeaturesFit_plan(JNIEnv* env, jclass, jlong fit) {
  tw_result* result = nullptr;
  return succeeded(env, tw_features_fit_plan(object_from<tw_features_fit>(fit), &result)) ? text_and_free(env, result)
                                                                                          : nullptr;
}

JNIEXPORT void JNICALL Java_io_thalweg_jni_NativeFeaturesFit_see(JNIEnv* env, jclass, jlong fit, jobjectArray names,
                                                                 jintArray dtypes, jobjectArray values,
                                                                 jobjectArray offsets, jobjectArray missing,
                                                                 jlong rows) {
  guarded<jlong>(env, 0, [&]() -> jlong {
    std::vector<std::string> texts;
    const std::vector<tw_row_column> columns =
        columns_from(env, {names, dtypes, values, offsets, missing}, rows, &texts);
    if (env->ExceptionCheck()) return 0;
    succeeded(env, tw_features_fit_see(object_from<tw_features_fit>(fit), columns.data(), columns.size(), rows));
    return 0;
  });
}

JNIEXPORT jstring JNICALL Java_io_thalweg_jni_NativeFeaturesFit_state(JNIEnv* env, jclass, jlong fit) {
  tw_result* result = nullptr;
  return succeeded(env, tw_features_fit_state(object_from<tw_features_fit>(fit), &result)) ? text_and_free(env, result)
                                                                                           : nullptr;
}

JNIEXPORT void JNICALL Java_io_thalweg_jni_NativeFeaturesFit_merge(JNIEnv* env, jclass, jlong fit, jstring state) {
  guarded<jlong>(env, 0, [&]() -> jlong {
    succeeded(env, tw_features_fit_merge(object_from<tw_features_fit>(fit), text_from(env, state).c_str()));
    return 0;
  });
}

JNIEXPORT void JNICALL Java_io_thalweg_jni_NativeFeaturesFit_endPass(JNIEnv* env, jclass, jlong fit) {
  succeeded(env, tw_features_fit_end_pass(object_from<tw_features_fit>(fit)));
}

}  // extern "C"
