// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The methods of io.thalweg.jni.NativeTraining.
#include <vector>

#include "jni_support.h"
#include "thalweg/c_training.h"

using namespace thalweg::jni;

namespace {

/// Null for a Java null, else the text.
class OptionalText {
 public:
  OptionalText(JNIEnv* env, jstring text) : given_(text != nullptr), text_(text_from(env, text)) {}
  const char* get() const { return given_ ? text_.c_str() : nullptr; }

 private:
  bool given_;
  std::string text_;
};

/// Columns over the memory of direct buffers, of which `sizes` says how much counts. Empty, with an exception pending,
/// if a buffer is too small.
std::vector<tw_column> columns_from(JNIEnv* env, jlong rows, jobjectArray buffers, jlongArray sizes,
                                    jobjectArray offsets) {
  const jsize count = env->GetArrayLength(buffers);
  std::vector<jlong> bytes(static_cast<size_t>(count));
  env->GetLongArrayRegion(sizes, 0, count, bytes.data());
  std::vector<tw_column> columns;
  for (jsize i = 0; i < count && !env->ExceptionCheck(); ++i) {
    jobject buffer = env->GetObjectArrayElement(buffers, i);
    jobject starts = env->GetObjectArrayElement(offsets, i);
    const jlong size = bytes[static_cast<size_t>(i)];
    const jlong starts_size = (rows + 1) * static_cast<jlong>(sizeof(uint64_t));
    const void* values = memory_of(env, buffer, size, "a column of rows");
    const void* starts_at = starts != nullptr ? memory_of(env, starts, starts_size, "where rows begin") : nullptr;
    if (env->ExceptionCheck()) return {};
    columns.push_back({values, static_cast<uint64_t>(size), static_cast<const uint64_t*>(starts_at)});
    env->DeleteLocalRef(buffer);
    env->DeleteLocalRef(starts);
  }
  return columns;
}

}  // namespace

extern "C" {

JNIEXPORT jstring JNICALL Java_io_thalweg_jni_NativeTraining_model(JNIEnv* env, jclass, jstring source,
                                                                   jstring settings, jstring path) {
  return guarded<jstring>(env, nullptr, [&]() -> jstring {
    tw_result* result = nullptr;
    const tw_status status = tw_training_model(text_from(env, source).c_str(), OptionalText(env, settings).get(),
                                               OptionalText(env, path).get(), &result);
    return succeeded(env, status) ? text_and_free(env, result) : nullptr;
  });
}

JNIEXPORT jstring JNICALL Java_io_thalweg_jni_NativeTraining_settings(JNIEnv* env, jclass, jobjectArray assignments) {
  return guarded<jstring>(env, nullptr, [&]() -> jstring {
    std::vector<std::string> texts;
    for (jsize i = 0; i < env->GetArrayLength(assignments); ++i) {
      auto* text = static_cast<jstring>(env->GetObjectArrayElement(assignments, i));
      texts.push_back(text_from(env, text));
      env->DeleteLocalRef(text);
    }
    std::vector<const char*> pointers;
    for (const std::string& text : texts) pointers.push_back(text.c_str());
    tw_result* result = nullptr;
    const tw_status status = tw_training_settings(pointers.data(), pointers.size(), &result);
    return succeeded(env, status) ? text_and_free(env, result) : nullptr;
  });
}

JNIEXPORT jstring JNICALL Java_io_thalweg_jni_NativeTraining_makeSecret(JNIEnv* env, jclass) {
  tw_result* result = nullptr;
  return succeeded(env, tw_make_secret(&result)) ? text_and_free(env, result) : nullptr;
}

JNIEXPORT jlong JNICALL Java_io_thalweg_jni_NativeTraining_startRendezvous(JNIEnv* env, jclass, jstring address,
                                                                           jstring secret, jint workers,
                                                                           jdouble form_seconds, jboolean tls) {
  return guarded<jlong>(env, 0, [&]() -> jlong {
    const OptionalText address_text(env, address);
    const OptionalText secret_text(env, secret);
    const tw_rendezvous_options options = {address_text.get(), secret_text.get(), workers, form_seconds,
                                           tls == JNI_TRUE ? 1 : 0};
    tw_rendezvous* rendezvous = nullptr;
    return succeeded(env, tw_rendezvous_start(&options, &rendezvous)) ? handle_of(rendezvous) : 0;
  });
}

JNIEXPORT jstring JNICALL Java_io_thalweg_jni_NativeTraining_rendezvousAddress(JNIEnv* env, jclass, jlong rendezvous) {
  return text_to(env, tw_rendezvous_address(object_from<tw_rendezvous>(rendezvous)));
}

JNIEXPORT jstring JNICALL Java_io_thalweg_jni_NativeTraining_rendezvousState(JNIEnv* env, jclass, jlong rendezvous) {
  tw_result* result = nullptr;
  const tw_status status = tw_rendezvous_state(object_from<tw_rendezvous>(rendezvous), &result);
  return succeeded(env, status) ? text_and_free(env, result) : nullptr;
}

JNIEXPORT void JNICALL Java_io_thalweg_jni_NativeTraining_acceptModel(JNIEnv* env, jclass, jlong rendezvous) {
  succeeded(env, tw_rendezvous_accept(object_from<tw_rendezvous>(rendezvous)));
}

JNIEXPORT void JNICALL Java_io_thalweg_jni_NativeTraining_freeRendezvous(JNIEnv*, jclass, jlong rendezvous) {
  tw_rendezvous_free(object_from<tw_rendezvous>(rendezvous));
}

JNIEXPORT jlong JNICALL Java_io_thalweg_jni_NativeTraining_createRows(JNIEnv* env, jclass, jstring fields, jlong memory,
                                                                      jstring directory) {
  return guarded<jlong>(env, 0, [&]() -> jlong {
    tw_rows* rows = nullptr;
    const tw_status status = tw_rows_create(text_from(env, fields).c_str(), static_cast<uint64_t>(memory),
                                            OptionalText(env, directory).get(), &rows);
    return succeeded(env, status) ? handle_of(rows) : 0;
  });
}

JNIEXPORT void JNICALL Java_io_thalweg_jni_NativeTraining_appendRows(JNIEnv* env, jclass, jlong rows, jlong count,
                                                                     jobjectArray buffers, jlongArray sizes,
                                                                     jobjectArray offsets) {
  guarded<int>(env, 0, [&] {
    const std::vector<tw_column> columns = columns_from(env, count, buffers, sizes, offsets);
    if (!env->ExceptionCheck())
      succeeded(env, tw_rows_append(object_from<tw_rows>(rows), count, columns.data(), columns.size()));
    return 0;
  });
}

JNIEXPORT jlong JNICALL Java_io_thalweg_jni_NativeTraining_countRows(JNIEnv*, jclass, jlong rows) {
  return tw_rows_count(object_from<tw_rows>(rows));
}

JNIEXPORT void JNICALL Java_io_thalweg_jni_NativeTraining_freeRows(JNIEnv*, jclass, jlong rows) {
  tw_rows_free(object_from<tw_rows>(rows));
}

JNIEXPORT jlong JNICALL Java_io_thalweg_jni_NativeTraining_create(JNIEnv* env, jclass, jstring model, jstring settings,
                                                                  jstring rendezvous, jstring secret, jstring name,
                                                                  jint seat, jint attempt) {
  return guarded<jlong>(env, 0, [&]() -> jlong {
    const OptionalText texts[] = {{env, model}, {env, settings}, {env, rendezvous}, {env, secret}, {env, name}};
    const tw_training_options options = {texts[0].get(),
                                         texts[1].get(),
                                         texts[2].get(),
                                         texts[3].get(),
                                         texts[4].get(),
                                         seat,
                                         static_cast<uint32_t>(attempt)};
    tw_training* training = nullptr;
    return succeeded(env, tw_training_create(&options, &training)) ? handle_of(training) : 0;
  });
}

JNIEXPORT jboolean JNICALL Java_io_thalweg_jni_NativeTraining_join(JNIEnv* env, jclass, jlong training) {
  const tw_status status = tw_training_join(object_from<tw_training>(training));
  return status != TW_SEAT_TAKEN && succeeded(env, status) ? JNI_TRUE : JNI_FALSE;
}

JNIEXPORT void JNICALL Java_io_thalweg_jni_NativeTraining_reading(JNIEnv* env, jclass, jlong training, jlong rows) {
  succeeded(env, tw_training_reading(object_from<tw_training>(training), rows));
}

JNIEXPORT void JNICALL Java_io_thalweg_jni_NativeTraining_fail(JNIEnv* env, jclass, jlong training, jstring why) {
  guarded<int>(env, 0, [&] {
    succeeded(env, tw_training_fail(object_from<tw_training>(training), text_from(env, why).c_str()));
    return 0;
  });
}

JNIEXPORT jboolean JNICALL Java_io_thalweg_jni_NativeTraining_gives(JNIEnv* env, jclass, jlong training) {
  int32_t gives = 0;
  return succeeded(env, tw_training_gives(object_from<tw_training>(training), &gives)) && gives != 0 ? JNI_TRUE
                                                                                                     : JNI_FALSE;
}

JNIEXPORT void JNICALL Java_io_thalweg_jni_NativeTraining_gave(JNIEnv* env, jclass, jlong training) {
  succeeded(env, tw_training_gave(object_from<tw_training>(training)));
}

JNIEXPORT void JNICALL Java_io_thalweg_jni_NativeTraining_validateOn(JNIEnv* env, jclass, jlong training, jlong rows) {
  succeeded(env, tw_training_validate_on(object_from<tw_training>(training), object_from<tw_rows>(rows)));
}

JNIEXPORT jboolean JNICALL Java_io_thalweg_jni_NativeTraining_run(JNIEnv* env, jclass, jlong training, jlong rows) {
  const tw_status status = tw_training_run(object_from<tw_training>(training), object_from<tw_rows>(rows));
  return status != TW_SEAT_TAKEN && succeeded(env, status) ? JNI_TRUE : JNI_FALSE;
}

JNIEXPORT void JNICALL Java_io_thalweg_jni_NativeTraining_cancel(JNIEnv*, jclass, jlong training) {
  tw_training_cancel(object_from<tw_training>(training));
}

JNIEXPORT jstring JNICALL Java_io_thalweg_jni_NativeTraining_report(JNIEnv* env, jclass, jlong training) {
  tw_result* result = nullptr;
  const tw_status status = tw_training_report(object_from<tw_training>(training), &result);
  return succeeded(env, status) ? text_and_free(env, result) : nullptr;
}

JNIEXPORT jbyteArray JNICALL Java_io_thalweg_jni_NativeTraining_export(JNIEnv* env, jclass, jlong training,
                                                                       jstring metadata) {
  return guarded<jbyteArray>(env, nullptr, [&]() -> jbyteArray {
    tw_result* result = nullptr;
    const tw_status status =
        tw_training_export(object_from<tw_training>(training), OptionalText(env, metadata).get(), &result);
    return succeeded(env, status) ? bytes_and_free(env, result) : nullptr;
  });
}

JNIEXPORT void JNICALL Java_io_thalweg_jni_NativeTraining_free(JNIEnv*, jclass, jlong training) {
  tw_training_free(object_from<tw_training>(training));
}

}  // extern "C"
