// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <jni.h>

#include <exception>
#include <string>

#include "thalweg/c_api.h"

/// What the functions that Java calls share. They translate arguments and results, and nothing else.
namespace thalweg::jni {

/// Has the calling Java method throw a ThalwegException once control is back; a pending exception stays as it is.
void throw_error(JNIEnv* env, const char* text) noexcept;

/// The same with the text of tw_last_error, if `status` is a failure. Gives true if it is none.
bool succeeded(JNIEnv* env, tw_status status) noexcept;

/// Runs `body`; what it throws (only memory can lack here) becomes a Java exception, and `fallback` the result.
template <typename Result, typename Body>
Result guarded(JNIEnv* env, Result fallback, Body&& body) noexcept {
  try {
    return body();
  } catch (const std::exception& error) {
    throw_error(env, error.what());
    return fallback;
  }
}

/// The text of a Java string, which may be null ("").
std::string text_from(JNIEnv* env, jstring text);

/// A Java string of UTF-8; null for null.
jstring text_to(JNIEnv* env, const char* text);

/// The text of a result, which it frees.
jstring text_and_free(JNIEnv* env, tw_result* result);
/// The bytes of its only tensor, of u8, as an array of Java; frees the result. Null with an exception pending if they
/// do not fit into one.
jbyteArray bytes_and_free(JNIEnv* env, tw_result* result);

/// The memory of a direct buffer that holds at least `bytes`. Null, with an exception pending that names `what`, if it
/// is no direct buffer or a smaller one.
void* memory_of(JNIEnv* env, jobject buffer, jlong bytes, const char* what);

jlongArray longs_to(JNIEnv* env, const int64_t* values, int32_t count);

template <typename Object>
Object* object_from(jlong handle) {
  return reinterpret_cast<Object*>(handle);
}

template <typename Object>
jlong handle_of(Object* object) {
  return reinterpret_cast<jlong>(object);
}

}  // namespace thalweg::jni
