// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.ThalwegException;
import java.util.List;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;

/**
 * How many tasks train, and with how many threads each.
 *
 * @param perExecutor workers that an executor has at most
 * @param driverHost an address of the driver that executors can reach
 */
record Workers(int count, int perExecutor, int threads, String driverHost, JavaSparkContext context) {
  private static final Logger LOG = LoggerFactory.getLogger(Workers.class);

  /** One for each executor, with all of its cores, unless the estimator asks for others. */
  static Workers choose(JavaSparkContext context, ThalwegEstimator estimator) {
    int taskCpus = context.getConf().getInt("spark.task.cpus", 1);
    // The driver counts as one, unless it is the only one.
    int executors = Math.max(1, context.sc().getExecutorMemoryStatus().size() - 1);
    int slots = Math.max(1, context.defaultParallelism() / taskCpus);
    boolean local = context.sc().isLocal();
    int count = estimator.value(estimator.numWorkers()).map(value -> (int) value).orElse(local ? 1 : executors);
    if (count < 1) {
      throw new ThalwegException("numWorkers is " + count + ", must be at least 1");
    }
    if (count > slots && !dynamic(context)) {
      throw new ThalwegException(
          count + " workers cannot train at the same time: the executors have room for " + slots
              + " tasks. Ask for fewer workers (numWorkers) or more executors or cores");
    }
    int cores = local ? slots * taskCpus : context.getConf().getInt("spark.executor.cores", Math.max(taskCpus, slots * taskCpus / executors));
    int perExecutor = (count + executors - 1) / executors;
    int threads = estimator.value(estimator.threads()).map(value -> (int) value).orElse(Math.max(taskCpus, cores / perExecutor));
    LOG.info("Thalweg trains with {} worker(s) of {} thread(s) each: there are {} executor(s) of {} core(s), spark.task.cpus is {}",
        count, threads, executors, cores, taskCpus);
    return new Workers(count, perExecutor, threads, context.getConf().get("spark.driver.host", "127.0.0.1"), context);
  }

  private static boolean dynamic(JavaSparkContext context) {
    return context.getConf().getBoolean("spark.dynamicAllocation.enabled", false);
  }

  /** The rows in as many partitions as there are workers, without moving any; some may have none. */
  JavaRDD<InternalRow> spread(Dataset<Row> rows) {
    JavaRDD<InternalRow> partitions = RowPosition.follow(QueryPlans.executionOf(rows).toRdd().toJavaRDD());
    int missing = count - partitions.getNumPartitions();
    if (missing > 0) {
      return partitions.union(context.parallelize(List.<InternalRow>of(), missing));
    }
    return partitions.rdd().coalesce(count, false, Option.apply(new AdjacentPartitions()), null).toJavaRDD();
  }
}
