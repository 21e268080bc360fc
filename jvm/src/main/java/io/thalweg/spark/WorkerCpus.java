// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import java.util.Optional;
import org.apache.spark.SparkContext;
import org.apache.spark.resource.ResourceProfile;
import org.apache.spark.resource.ResourceProfileBuilder;
import org.apache.spark.resource.ResourceProfileManager;
import org.apache.spark.resource.TaskResourceRequests;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;

/**
 * The cores that Spark counts as taken by a worker: those that it uses, so that no other task gets them. Otherwise Spark
 * would put as many workers into one executor as that has cores, if their rows lie there.
 *
 * @param count of each worker
 * @param profile that says so to Spark; empty where {@code count} is spark.task.cpus
 */
record WorkerCpus(int count, Optional<ResourceProfile> profile) {
  private static final Logger LOG = LoggerFactory.getLogger(WorkerCpus.class);

  /** As many as wanted, or spark.task.cpus if that is as many or if the cluster does not let a stage ask for more. */
  static WorkerCpus claim(SparkContext context, int wanted, int taskCpus) {
    if (wanted <= taskCpus) {
      return new WorkerCpus(taskCpus, Optional.empty());
    }
    ResourceProfileManager manager = context.resourceProfileManager();
    ResourceProfile profile =
        new ResourceProfileBuilder().require(new TaskResourceRequests().cpus(wanted)).build();
    // A new one for every fit would stay with the driver as long as that runs.
    Option<ResourceProfile> before = manager.getEquivalentProfile(profile);
    if (before.isDefined()) {
      return new WorkerCpus(wanted, Optional.of(before.get()));
    }
    try {
      manager.addResourceProfile(profile);
      return new WorkerCpus(wanted, Optional.of(profile));
    } catch (Exception refused) { // Spark's is a checked one that it does not declare
      LOG.warn("Thalweg: this cluster does not let a task ask for {} cores ({}); set spark.task.cpus instead",
          wanted, refused.getMessage());
      return new WorkerCpus(taskCpus, Optional.empty());
    }
  }

  /** How many such tasks the executors run at the same time. */
  int slots(SparkContext context) {
    return context.maxNumConcurrentTasks(profile.orElse(context.resourceProfileManager().defaultResourceProfile()));
  }
}
