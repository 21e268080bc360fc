/* Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0 */
/* The stable C interface from rows as people have them (lines of text, columns of tables) to the inputs of a model, by
 * what the model's file says of them. The conventions are those of c_api.h. */
#ifndef THALWEG_C_PREPARATION_H_
#define THALWEG_C_PREPARATION_H_

#include "thalweg/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a model takes and gives, as JSON in the text of the result: "inputs" and "outputs", each with "name", "dtype"
 * (null: unknown) and "shape" (null: unknown; -1 where the size may differ), and "metadata", the properties of the file
 * with their texts. */
tw_status tw_model_description(const tw_model* model, tw_result** result);

typedef struct tw_preparation tw_preparation;

/* `description` is what tw_model_description or tw_training_model gives. `columns`, a JSON list with a list of names
 * for each input, says of which columns the inputs are made, as they are called after the features of the model; null:
 * what the description says. On success *preparation must be freed with tw_preparation_free. Several threads may use
 * it. */
tw_status tw_preparation_create(const char* description, const char* columns, tw_preparation** preparation);
/* Null is allowed. */
void tw_preparation_free(tw_preparation* preparation);

/* The text of the result is JSON: "kind", which is "text" if a row is one text, or "columns", and then "columns", the
 * names of those that a row must have, and "imputed", those of them that may lack values. */
tw_status tw_preparation_needs(const tw_preparation* preparation, tw_result** result);

/* A column of rows in memory of the caller's. */
typedef struct tw_row_column {
  const char* name;       /* of a text alone it does not count */
  int32_t dtype;          /* TW_F64, TW_I64 or TW_TEXT */
  const void* values;     /* an array of double or int64_t, or the bytes of all texts in UTF-8 ... */
  const int64_t* offsets; /* ... of which this says where each begins and the last ends; else null */
  const uint8_t* missing; /* not 0 for each row without a value; null: all have one */
} tw_row_column;

/* The tensors of *inputs are the inputs of the model in its order, with `filled` rows: those beyond `rows` are copies
 * of the last. TW_ERROR says what is wrong with which column. */
tw_status tw_preparation_run(const tw_preparation* preparation, const tw_row_column* columns, size_t num_columns,
                             int64_t rows, int64_t filled, tw_result** inputs);

/* Features that learn of rows in several places, pass by pass. Used by one thread at a time. */
typedef struct tw_features_fit tw_features_fit;

/* `plan` is features as JSON, or what tw_features_fit_plan gives. On success *fit must be freed with
 * tw_features_fit_free. */
tw_status tw_features_fit_create(const char* plan, tw_features_fit** fit);
/* Null is allowed. */
void tw_features_fit_free(tw_features_fit* fit);

/* Where the fit stands between passes, as JSON: "done" if no further pass is needed, "features" with what they have
 * learned, "columns" that rows must have for this pass, and "imputed", those that may lack values. */
tw_status tw_features_fit_plan(const tw_features_fit* fit, tw_result** result);
/* After a failure, whose message names column and row, the fit is of no more use. */
tw_status tw_features_fit_see(tw_features_fit* fit, const tw_row_column* columns, size_t num_columns, int64_t rows);
/* What was seen in this pass, as text, for tw_features_fit_merge of another one with the same plan. */
tw_status tw_features_fit_state(const tw_features_fit* fit, tw_result** result);
tw_status tw_features_fit_merge(tw_features_fit* fit, const char* state);
/* The features learn what was seen and merged. */
tw_status tw_features_fit_end_pass(tw_features_fit* fit);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* THALWEG_C_PREPARATION_H_ */
