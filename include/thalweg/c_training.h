/* Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0 */
/* The stable C interface for training: a driver that keeps a place to meet, and workers that hand over rows and train
 * on them together. The conventions are those of c_api.h. */
#ifndef THALWEG_C_TRAINING_H_
#define THALWEG_C_TRAINING_H_

#include "thalweg/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Settings ---- */

/* The settings of a job, in TOML, of assignments "section.key=value" in which text needs no quotes; of several to the
 * same key the last counts. */
tw_status tw_training_settings(const char* const* assignments, size_t count, tw_result** result);

/* ---- The model ---- */

/* Describes the model that is to be trained, and writes it to `path`, unless that is null, for tw_training_create here
 * or elsewhere. `source` is the path of an ONNX file, of which the initialisers are trained, of a file that the Python
 * package has written for this, or "zoo:" and the name of a known model. `settings` is that of tw_training_options,
 * with options of a known model in a section "model"; may be null. What is wrong in it is an error here already. The
 * text of the result describes the model as JSON: "inputs" and "outputs", each with "name", "dtype" and "shape"; the
 * name of the "loss"; "targets": the types, "dtype" and "shape" of one row, that the loss accepts, of those that labels
 * come in, and, where they are class numbers, "classes": their "count" and the "ignored" number that stands for none;
 * "batch_size" and "patience" of the settings; "bytes" of all weights; and "memory", roughly what training takes
 * besides the rows, in bytes: "weights" for parameters, gradients and the optimiser, and "sample" for each sample of a
 * batch; and "metadata", the properties of the file, such as preprocessing and class names, which the trained model
 * keeps. */
tw_status tw_training_model(const char* source, const char* settings, const char* path, tw_result** result);

/* ---- The place to meet ---- */

typedef struct tw_rendezvous tw_rendezvous;

typedef struct tw_rendezvous_options {
  const char* address; /* "host:port"; port 0 lets the system choose, no host means every interface; null: loopback */
  const char* secret;  /* what workers must know; it is never sent */
  int32_t workers;     /* the group trains when so many have come */
  double form_seconds; /* how long a worker may be missing, from when the first has come; one that reads its rows is
                          not missing. 0: the default */
  int32_t tls; /* whether all that goes over the network is encrypted; workers say so by group.tls in settings */
} tw_rendezvous_options;

/* A secret nobody can guess, as the text of the result. */
tw_status tw_make_secret(tw_result** result);
tw_status tw_rendezvous_start(const tw_rendezvous_options* options, tw_rendezvous** rendezvous);
/* With the port that was chosen. */
const char* tw_rendezvous_address(const tw_rendezvous* rendezvous);
/* JSON: "epoch", "size", "waiting", "present" (workers that are there, ready or not), "finished" (all have trained),
 * "error" (why the job cannot be done, or ""), "progress" (one line for people, or ""), "members" (each with "name" and
 * what it says of itself), "forsaken_seats" (nobody has them, and one of a later attempt was refused before: start
 * somebody for them) and "log" (lines since the last call). */
tw_status tw_rendezvous_state(tw_rendezvous* rendezvous, tw_result** result);
/* The trained model is here: workers need not keep it any longer, and tw_training_gives returns. */
tw_status tw_rendezvous_accept(tw_rendezvous* rendezvous);
/* Workers that are still there lose it and fail. Null is allowed. */
void tw_rendezvous_free(tw_rendezvous* rendezvous);

/* ---- Rows ---- */

typedef struct tw_rows tw_rows;

/* `fields` is a JSON list of what every row has: {"name", "role": "input" | "target" | "name", "kind": "tensor" |
 * "image" | "text"}, with "dtype" and "shape" (of one row) for tensors, "pipeline" (as in the metadata of models) and
 * "color": "rgb" | "gray" for images. Rows beyond `memory_bytes` go to a file in `directory`, or are an error if that
 * is null; 0: the default. */
tw_status tw_rows_create(const char* fields, uint64_t memory_bytes, const char* directory, tw_rows** rows);
typedef struct tw_column {
  const void* bytes; /* of a tensor: row after row. Otherwise the bytes of all rows ... */
  uint64_t size;
  const uint64_t* offsets; /* ... of which this says where each begins, with one entry more than rows; else null */
} tw_column;
/* Copies rows; `columns` has one for each field. From one thread at a time. */
tw_status tw_rows_append(tw_rows* rows, int64_t count, const tw_column* columns, size_t num_columns);
int64_t tw_rows_count(const tw_rows* rows);
/* No training may be using them any more. Null is allowed. */
void tw_rows_free(tw_rows* rows);

/* ---- Training ---- */

typedef struct tw_training tw_training;

typedef struct tw_training_options {
  const char* model;      /* a file that tw_training_model wrote, or what it takes as source */
  const char* settings;   /* TOML with the sections train, optimizer, schedule, scheme, group and output, and
                             model, for those of the zoo; may be null */
  const char* rendezvous; /* where the group meets; null: this worker trains alone */
  const char* secret;
  const char* name; /* for messages; null: host and process */
  int32_t seat;     /* which of the workers this is, 0 to workers - 1 */
  uint32_t attempt; /* of the job at this seat: see TW_SEAT_TAKEN */
} tw_training_options;

/* Reads model and settings. */
tw_status tw_training_create(const tw_training_options* options, tw_training** training);
/* Goes to the place to meet, and returns once this worker has its seat: the time to read its rows, for which the others
 * wait as long as this process lives. While another worker of the same attempt has the seat it waits as a spare, for
 * any time. Returns TW_SEAT_TAKEN if there is nothing to do: a worker of an earlier attempt has the seat and goes on,
 * or the job is done. Alone: does nothing. */
tw_status tw_training_join(tw_training* training);
/* Before the run: how many rows this worker has read, for those who watch the group. */
tw_status tw_training_reading(tw_training* training, int64_t rows);
/* Ends the job for all, for a reason that another try would not change; it is the "error" of the rendezvous. */
tw_status tw_training_fail(tw_training* training, const char* why);
/* Before the run: rows to measure the model on after every epoch, which must be the same at every worker. */
tw_status tw_training_validate_on(tw_training* training, tw_rows* rows);
/* Trains to the end with all others, after tw_training_join, which it calls if that was not done. All workers must call
 * it with the same model and settings, each with its own rows; the rows are spread evenly first. The group waits for a
 * worker that is lost. An error that is this worker's alone ends the job for all, with its text in the state of the
 * rendezvous. Returns TW_SEAT_TAKEN as tw_training_join does. */
tw_status tw_training_run(tw_training* training, tw_rows* rows);
/* After a run: waits until this worker's model is wanted, which sets `gives` to 1, or until the rendezvous has accepted
 * one (tw_rendezvous_accept), 0. One worker at a time is asked, another one if that is lost. */
tw_status tw_training_gives(tw_training* training, int32_t* gives);
/* The model that was wanted is on its way, so that this worker may leave. */
tw_status tw_training_gave(tw_training* training);
/* Makes tw_training_join, tw_training_run and tw_training_gives end with an error within some seconds, or after the
 * step under way. From any thread. */
void tw_training_cancel(tw_training* training);
/* After a run, as JSON: "steps", "epochs" (a list of records), "tls" (whether what went over the network was
 * encrypted), "workers", "rank" and "rows" (of all workers). */
tw_status tw_training_report(const tw_training* training, tw_result** result);
/* The trained model as an ONNX file; `metadata` is a JSON object of properties, or null. */
tw_status tw_training_save(const tw_training* training, const char* path, const char* metadata);
/* The bytes of that file: the only tensor of the result, of u8. */
tw_status tw_training_export(const tw_training* training, const char* metadata, tw_result** result);
/* Null is allowed. */
void tw_training_free(tw_training* training);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* THALWEG_C_TRAINING_H_ */
