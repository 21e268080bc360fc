// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The methods of io.thalweg.jni.NativeResult.
#include "jni_support.h"

using namespace thalweg::jni;

namespace {

bool find_tensor(JNIEnv* env, jlong result, jint index, tw_tensor* tensor) {
  return succeeded(env, tw_result_tensor(object_from<tw_result>(result), static_cast<size_t>(index), tensor));
}

}  // namespace

extern "C" {

JNIEXPORT jint JNICALL Java_io_thalweg_jni_NativeResult_count(JNIEnv*, jclass, jlong result) {
  return static_cast<jint>(tw_result_num_tensors(object_from<tw_result>(result)));
}

JNIEXPORT jint JNICALL Java_io_thalweg_jni_NativeResult_dtype(JNIEnv* env, jclass, jlong result, jint index) {
  tw_tensor tensor = {};
  return find_tensor(env, result, index, &tensor) ? tensor.dtype : TW_UNKNOWN;
}

JNIEXPORT jlongArray JNICALL Java_io_thalweg_jni_NativeResult_dims(JNIEnv* env, jclass, jlong result, jint index) {
  tw_tensor tensor = {};
  return find_tensor(env, result, index, &tensor) ? longs_to(env, tensor.dims, tensor.rank) : nullptr;
}

JNIEXPORT jobject JNICALL Java_io_thalweg_jni_NativeResult_data(JNIEnv* env, jclass, jlong result, jint index,
                                                                jlong bytes) {
  tw_tensor tensor = {};
  return find_tensor(env, result, index, &tensor) ? env->NewDirectByteBuffer(tensor.data, bytes) : nullptr;
}

JNIEXPORT jstring JNICALL Java_io_thalweg_jni_NativeResult_text(JNIEnv* env, jclass, jlong result) {
  return text_to(env, tw_result_text(object_from<tw_result>(result)));
}

JNIEXPORT void JNICALL Java_io_thalweg_jni_NativeResult_free(JNIEnv*, jclass, jlong result) {
  tw_result_free(object_from<tw_result>(result));
}

}  // extern "C"
