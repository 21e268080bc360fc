/* Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0 */
/* The stable C interface for figures about a model's answers, in pieces that several processes compute and one puts
 * together. The conventions are those of c_api.h. */
#ifndef THALWEG_C_SCORES_H_
#define THALWEG_C_SCORES_H_

#include "thalweg/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tw_scores tw_scores;

/* What the loss of this name takes for the target of one row, if `dims` are those of a row of the model's output: JSON,
 * a list as "targets" of tw_training_model. */
tw_status tw_scores_targets(const char* loss, const int64_t* dims, int32_t rank, tw_result** result);
/* `metrics` are names separated by commas, such as "accuracy,auc"; `loss` is the name of one, or null for none; `dims`
 * are those of a row of the model's output. Where that is one number, which tells two classes apart, "accuracy" is that
 * of the two, and metrics that decide between them do so at 0 for the loss bce_with_logits and without a loss, else at
 * a half. */
tw_status tw_scores_create(const char* metrics, const char* loss, const int64_t* dims, int32_t rank,
                           tw_scores** scores);
/* A batch: an output of the model and the target that belongs to it, row by row. From one thread at a time. */
tw_status tw_scores_add(tw_scores* scores, const tw_tensor* output, const tw_tensor* target);
/* All that was added, as the only tensor of the result (f64, one dimension), for tw_scores_merge elsewhere. */
tw_status tw_scores_state(const tw_scores* scores, tw_result** result);
/* As if the batches behind the state had been added here, after those that were. */
tw_status tw_scores_merge(tw_scores* scores, const double* state, size_t count);
/* A JSON object of names and values; null where nothing has been added that would define it. */
tw_status tw_scores_values(const tw_scores* scores, tw_result** result);
/* Null is allowed. */
void tw_scores_free(tw_scores* scores);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* THALWEG_C_SCORES_H_ */
