// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "jni_support.h"

#include <cstring>
#include <limits>

namespace thalweg::jni {

void throw_error(JNIEnv* env, const char* text) noexcept {
  if (env->ExceptionCheck()) return;
  jclass type = env->FindClass("io/thalweg/ThalwegException");
  if (type == nullptr) return;  // that failure is pending instead
  jmethodID constructor = env->GetMethodID(type, "<init>", "(Ljava/lang/String;)V");
  jstring message = text_to(env, text);
  if (constructor == nullptr || message == nullptr) return;
  auto* exception = static_cast<jthrowable>(env->NewObject(type, constructor, message));
  if (exception != nullptr) env->Throw(exception);
}

bool succeeded(JNIEnv* env, tw_status status) noexcept {
  if (status == TW_OK) return true;
  throw_error(env, tw_last_error());
  return false;
}

// JNI's own conversions know only Java's variant of UTF-8, in which characters beyond 16 bits and zeros differ: strings
// go as bytes.
std::string text_from(JNIEnv* env, jstring text) {
  if (text == nullptr) return "";
  jclass type = env->FindClass("java/lang/String");
  jmethodID get_bytes = type == nullptr ? nullptr : env->GetMethodID(type, "getBytes", "(Ljava/lang/String;)[B");
  jstring charset = get_bytes == nullptr ? nullptr : env->NewStringUTF("UTF-8");
  if (charset == nullptr) return "";
  auto* bytes = static_cast<jbyteArray>(env->CallObjectMethod(text, get_bytes, charset));
  if (bytes == nullptr) return "";
  std::string result(static_cast<size_t>(env->GetArrayLength(bytes)), '\0');
  env->GetByteArrayRegion(bytes, 0, static_cast<jsize>(result.size()), reinterpret_cast<jbyte*>(result.data()));
  env->DeleteLocalRef(bytes);
  env->DeleteLocalRef(charset);
  env->DeleteLocalRef(type);
  return result;
}

jstring text_to(JNIEnv* env, const char* text) {
  if (text == nullptr) return nullptr;
  const auto size = static_cast<jsize>(std::strlen(text));
  jclass type = env->FindClass("java/lang/String");
  jmethodID constructor = type == nullptr ? nullptr : env->GetMethodID(type, "<init>", "([BLjava/lang/String;)V");
  jstring charset = constructor == nullptr ? nullptr : env->NewStringUTF("UTF-8");
  jbyteArray bytes = charset == nullptr ? nullptr : env->NewByteArray(size);
  if (bytes == nullptr) return nullptr;
  env->SetByteArrayRegion(bytes, 0, size, reinterpret_cast<const jbyte*>(text));
  auto* result = static_cast<jstring>(env->NewObject(type, constructor, bytes, charset));
  env->DeleteLocalRef(bytes);
  env->DeleteLocalRef(charset);
  env->DeleteLocalRef(type);
  return result;
}

jstring text_and_free(JNIEnv* env, tw_result* result) {
  jstring text = text_to(env, tw_result_text(result));
  tw_result_free(result);
  return text;
}

jbyteArray bytes_and_free(JNIEnv* env, tw_result* result) {
  jbyteArray bytes = nullptr;
  tw_tensor tensor = {};
  if (succeeded(env, tw_result_tensor(result, 0, &tensor))) {
    if (tensor.rank == 1 && tensor.dims[0] <= std::numeric_limits<jint>::max()) {
      const auto count = static_cast<jint>(tensor.dims[0]);
      bytes = env->NewByteArray(count);  // null with an OutOfMemoryError pending if the heap is too small
      if (bytes != nullptr) env->SetByteArrayRegion(bytes, 0, count, static_cast<const jbyte*>(tensor.data));
    } else {
      throw_error(env, "the bytes of a result are too many for an array of Java");
    }
  }
  tw_result_free(result);
  return bytes;
}

void* memory_of(JNIEnv* env, jobject buffer, jlong bytes, const char* what) {
  void* memory = buffer != nullptr ? env->GetDirectBufferAddress(buffer) : nullptr;
  if (memory != nullptr && bytes >= 0 && env->GetDirectBufferCapacity(buffer) >= bytes) return memory;
  throw_error(
      env, (std::string(what) + " is no direct buffer, or has less than " + std::to_string(bytes) + " bytes").c_str());
  return nullptr;
}

jlongArray longs_to(JNIEnv* env, const int64_t* values, int32_t count) {
  static_assert(sizeof(jlong) == sizeof(int64_t));
  jlongArray result = env->NewLongArray(count);
  if (result != nullptr && count > 0) env->SetLongArrayRegion(result, 0, count, reinterpret_cast<const jlong*>(values));
  return result;
}

}  // namespace thalweg::jni
