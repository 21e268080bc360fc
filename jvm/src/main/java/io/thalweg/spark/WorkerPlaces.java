// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.spark.RegisteredExecutors.Executor;
import java.util.List;
import java.util.Map;

/**
 * Deals workers out to executors: each goes where most of its rows lie, as long as there is room. Without that, all would
 * prefer the executor that holds a cached DataFrame, and those that find it full would wait for spark.locality.wait.
 */
final class WorkerPlaces {
  private final List<Executor> executors;
  private final int perExecutor;

  WorkerPlaces(List<Executor> executors, int perExecutor) {
    this.executors = List.copyOf(executors);
    this.perExecutor = perExecutor;
  }

  /**
   * The place of each worker, as Spark writes it; null for those that find no room.
   *
   * @param votes for each worker, how many of its partitions prefer which place, as Spark writes it
   */
  String[] assign(List<Map<String, Integer>> votes) {
    String[] places = new String[votes.size()];
    int[] taken = new int[executors.size()];
    for (int left = Math.min(votes.size(), executors.size() * perExecutor); left > 0; --left) {
      int bestWorker = -1;
      int bestExecutor = -1;
      int most = -1;
      for (int worker = 0; worker < places.length; ++worker) {
        for (int executor = 0; places[worker] == null && executor < taken.length; ++executor) {
          int score = score(votes.get(worker), executors.get(executor));
          boolean emptier = score == most && bestWorker == worker && taken[executor] < taken[bestExecutor];
          if (taken[executor] < perExecutor && (score > most || emptier)) {
            most = score;
            bestWorker = worker;
            bestExecutor = executor;
          }
        }
      }
      places[bestWorker] = executors.get(bestExecutor).place();
      ++taken[bestExecutor];
    }
    return places;
  }

  private static int score(Map<String, Integer> votes, Executor executor) {
    return votes.getOrDefault(executor.place(), 0) + votes.getOrDefault(executor.host(), 0);
  }
}
