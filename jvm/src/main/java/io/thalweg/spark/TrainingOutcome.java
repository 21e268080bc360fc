// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import java.io.Serializable;

/**
 * What a worker gives back.
 *
 * @param seat of the worker
 * @param place what the worker is called: its seat, executor and host
 * @param report JSON, as tw_training_report describes it; null if another attempt did the work, or it was done
 * @param model the trained model, from one worker only; null from others
 */
record TrainingOutcome(int seat, String place, int threads, String report, byte[] model, long rows, long skippedRows)
    implements Serializable {}
