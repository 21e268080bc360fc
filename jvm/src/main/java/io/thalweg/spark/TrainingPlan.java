// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.spark.columns.TrainingColumns;
import java.io.Serializable;

/**
 * What the tasks of a training need to know; made by the driver.
 *
 * @param memoryBytes of each worker's rows; 0: the engine's default
 * @param validation null: none
 * @param checkpoints null, unless they are on a file system that the engine does not know
 * @param metadata of the trained model, a JSON object of texts
 */
record TrainingPlan(
    StartModel model,
    TrainingColumns columns,
    Validation validation,
    TrainingSettings settings,
    WorkerThreads threads,
    RemoteCheckpoints.Place checkpoints,
    String rendezvous,
    String secret,
    long memoryBytes,
    boolean skipBadRows,
    String metadata)
    implements Serializable {}
