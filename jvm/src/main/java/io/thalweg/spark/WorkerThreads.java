// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import java.io.Serializable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How many threads a worker has.
 *
 * @param wanted by what Spark says of its executors
 * @param asked whether the user has set this number
 * @param perExecutor workers that may be in one process
 */
record WorkerThreads(int wanted, boolean asked, int perExecutor) implements Serializable {
  private static final Logger LOG = LoggerFactory.getLogger(WorkerThreads.class);

  /** In this process, whose control group may have fewer processors than Spark believes. */
  int here(String worker) {
    return of(Runtime.getRuntime().availableProcessors(), worker);
  }

  int of(int processors, String worker) {
    int threads = asked ? wanted : Math.min(wanted, Math.max(1, processors / perExecutor));
    if (threads < wanted) {
      LOG.warn("Thalweg: {} has {} thread(s) in place of {}: its process has {} processor(s) for up to {} worker(s)",
          worker, threads, wanted, processors, perExecutor);
    } else {
      LOG.info("Thalweg: {} has {} thread(s), its process {} processor(s)", worker, threads, processors);
    }
    return threads;
  }
}
