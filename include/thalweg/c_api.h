/* Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0 */
/* The stable C interface: load an ONNX model, see what it takes and gives, run it, on images too.
 *
 * Functions that can fail return a tw_status; tw_last_error() then says what went wrong. No exception leaves them.
 * Strings and pointers that functions hand out belong to the object they were asked of, and live as long as it does.
 * A model may be used by several threads at once; a result belongs to one. */
#ifndef THALWEG_C_API_H_
#define THALWEG_C_API_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tw_status {
  TW_OK = 0,
  TW_ERROR = 1,         /* what was asked cannot be done: bad file, bad input, unsupported operator, ... */
  TW_OUT_OF_MEMORY = 2, /* the system gave no more memory */
  TW_SEAT_TAKEN = 3     /* of tw_training_join and tw_training_run only: somebody else does this work, or it is done */
} tw_status;

/* The values are part of the interface. */
typedef enum tw_dtype {
  TW_F32 = 0,
  TW_F64 = 1,
  TW_BF16 = 2,
  TW_F16 = 3,
  TW_I8 = 4,
  TW_U8 = 5,
  TW_I32 = 6,
  TW_I64 = 7,
  TW_BOOL = 8, /* one byte, 0 or 1 */
  TW_I16 = 9,
  TW_U16 = 10,
  TW_U32 = 11,
  TW_U64 = 12,
  /* Numbers of 8, 4 and 2 bits, each in the lowest bits of a byte of its own. */
  TW_F8E4M3FN = 13,
  TW_F8E4M3FNUZ = 14,
  TW_F8E5M2 = 15,
  TW_F8E5M2FNUZ = 16,
  TW_F8E8M0 = 17,
  TW_F4E2M1 = 18,
  TW_I4 = 19,
  TW_U4 = 20,
  TW_I2 = 21,
  TW_U2 = 22,
  TW_TEXT = 23,     /* data is an array of tw_text */
  TW_SEQUENCE = 24, /* rank is 1, data is an array of tw_tensor */
  TW_NOTHING = 25,  /* an optional value that has none; shape and data do not count */
  TW_UNKNOWN = -1   /* in descriptions only */
} tw_dtype;

typedef enum tw_precision {
  TW_PRECISION_DECLARED = 0, /* what the model's metadata asks for, else f32 */
  TW_PRECISION_F32 = 1,
  TW_PRECISION_BF16 = 2
} tw_precision;

/* Bytes, usually UTF-8; no zero need follow. */
typedef struct tw_text {
  const char* bytes;
  size_t size;
} tw_text;

/* A dense row-major array. As an input the caller owns dims and data, which must stay as they are during the call. */
typedef struct tw_tensor {
  int32_t dtype; /* a tw_dtype */
  int32_t rank;
  const int64_t* dims; /* outermost first; may be null if rank is 0 */
  void* data;
} tw_tensor;

/* What a model takes or gives. */
typedef struct tw_value_info {
  const char* name;
  int32_t dtype;       /* a tw_dtype; TW_UNKNOWN if the model does not say, or if it is none of the above */
  int32_t rank;        /* -1 if not even that is known */
  const int64_t* dims; /* -1 where the size may differ from run to run */
} tw_value_info;

/* Zero it, then set what should differ from the default. */
typedef struct tw_options {
  int32_t threads;      /* of each call; 0: what the machine and its control group allow */
  int32_t precision;    /* a tw_precision */
  int32_t max_programs; /* compiled programs kept for different input shapes; 0: the default */
  /* Limits for files that are not trusted: a small one can ask for any amount of either. */
  uint64_t max_memory; /* bytes of the largest piece that loading or a run may ask for; 0: what the machine has */
  double max_seconds;  /* a run that takes longer fails before its next part or iteration; 0: no limit */
} tw_options;

typedef struct tw_model tw_model;
typedef struct tw_result tw_result;

/* "0.1.0". */
const char* tw_version(void);

/* Why the last call of this thread that failed did so; "" if none did. Valid until the next failure in this thread. */
const char* tw_last_error(void);

/* What the engine finds here; the text of the result is a JSON object: "version", "cpu", "features" (a list of
 * instruction sets), "processors" (that this process may use), "cgroup_processors" and "cgroup_memory_bytes" (null: no
 * limit). */
tw_status tw_system(tw_result** result);

/* Reads an ONNX file. `options` may be null. On success *model must be freed with tw_model_free. */
tw_status tw_model_load(const char* path, const tw_options* options, tw_model** model);
/* The same from memory, which is copied. */
tw_status tw_model_load_bytes(const void* bytes, size_t size, const tw_options* options, tw_model** model);
/* The other files that an ONNX file has tensors in, as it names them: a JSON list. It is empty also for a file that is
 * no model, of which tw_model_load says more. */
tw_status tw_model_external_files(const char* path, tw_result** result);
/* Null is allowed. No call may be using the model any more. */
void tw_model_free(tw_model* model);

size_t tw_model_num_inputs(const tw_model* model);
size_t tw_model_num_outputs(const tw_model* model);
/* TW_ERROR if there is no such input or output. */
tw_status tw_model_input(const tw_model* model, size_t index, tw_value_info* info);
tw_status tw_model_output(const tw_model* model, size_t index, tw_value_info* info);
/* The metadata property of this name, null if there is none. */
const char* tw_model_metadata(const tw_model* model, const char* key);

/* Runs the model. `inputs` in the order of tw_model_input. The first call for new shapes compiles. On success *result
 * must be freed with tw_result_free. */
tw_status tw_model_run(const tw_model* model, const tw_tensor* inputs, size_t num_inputs, tw_result** result);

/* Reads output `index` of a run, [rows, classes], as classes: the tensors of *classes are the probabilities,
 * f32 [rows, classes], and the number of the most probable class of each row, i64 [rows]. Softmax is applied unless the
 * model ends with it; a single element in a row speaks for the second of two classes. Freed with tw_result_free. */
tw_status tw_model_classify(const tw_model* model, const tw_result* result, size_t index, tw_result** classes);

/* Which kernels run for these inputs, and how long each takes; the text is the string of the result. */
tw_status tw_model_explain(const tw_model* model, const tw_tensor* inputs, size_t num_inputs, tw_result** result);

/* Zero it, then set what should differ from the default. */
typedef struct tw_optimize_options {
  const char* forms;       /* such as "f32,int8"; null or "": those that suit the machine and the data */
  const char* calibration; /* "minmax", "percentile" or "entropy"; null: percentile */
  const tw_tensor* data;   /* num_batches times num_inputs tensors: ranges are taken and answers compared on them */
  size_t num_batches;
  size_t num_inputs;
  double max_drop; /* how much agreement with f32 may be lost; 0: 0.01 */
  double seconds;  /* for how long each form is timed; 0: 1 */
  int32_t threads; /* 0: what the machine and its control group allow */
} tw_optimize_options;

/* Tries the forms of the model at `path`, writes the fastest whose answers agree to `output` (null: nowhere) and says
 * in the text of the result, as JSON, what was found: an object with "chosen" and "forms". */
tw_status tw_optimize(const char* path, const char* output, const tw_optimize_options* options, tw_result** result);

size_t tw_result_num_tensors(const tw_result* result);
/* A view of one output. TW_ERROR if there is no such output. */
tw_status tw_result_tensor(const tw_result* result, size_t index, tw_tensor* tensor);
/* What tw_model_explain or tw_optimize wrote, otherwise "". */
const char* tw_result_text(const tw_result* result);
/* Null is allowed. */
void tw_result_free(tw_result* result);

/* From images to the rows of a batch: a pipeline of transforms, as the metadata property "thalweg.preprocessing" of a
 * model holds it. A pipeline may be used by several threads at once. */
typedef struct tw_pipeline tw_pipeline;

/* An image in memory of the caller's. */
typedef struct tw_image {
  const void* bytes; /* of a file (JPEG, PNG, GIF, BMP), or pixels */
  size_t size;
  const char* name; /* what errors call it; may be null */
  /* Of pixels as OpenCV and Spark keep them, rows of blue, green, red (and alpha) or of grey; 0, 0, 0: a file. */
  int64_t height;
  int64_t width;
  int64_t channels;
} tw_image;

/* `channels` is what a model takes: 3 (red, green, blue) or 1 (grey), whatever the images have. On success *pipeline
 * must be freed with tw_pipeline_free. TW_ERROR also if images would come out in different sizes. */
tw_status tw_pipeline_create(const char* json, int32_t channels, tw_pipeline** pipeline);
/* Null is allowed. */
void tw_pipeline_free(tw_pipeline* pipeline);
/* What one image becomes, without the batch; its name is "". */
tw_status tw_pipeline_row(const tw_pipeline* pipeline, tw_value_info* info);
/* Decodes and transforms images, each into its row of `rows`, which has `rows_bytes` bytes, on `threads` threads. If
 * `failed` is null the first bad image is an error; otherwise it has an entry for each image, which becomes 1 if that
 * is bad, and 0 if not; tw_last_error then says what is wrong with the first of them. */
tw_status tw_pipeline_run(const tw_pipeline* pipeline, const tw_image* images, size_t count, int32_t threads,
                          void* rows, size_t rows_bytes, uint8_t* failed);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* THALWEG_C_API_H_ */
