// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.ThalwegException;
import io.thalweg.spark.RegisteredExecutors.Executor;
import java.util.List;
import java.util.Optional;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How many tasks train, where, and with how many threads each.
 *
 * @param perExecutor workers that an executor has at most
 * @param threads of each worker
 * @param threadsAsked whether the user has set these, so that no worker takes fewer
 * @param executors that there are; none in a session without a cluster
 */
record Workers(
    int count,
    int perExecutor,
    int threads,
    boolean threadsAsked,
    WorkerCpus cpus,
    List<Executor> executors,
    JavaSparkContext context) {
  private static final Logger LOG = LoggerFactory.getLogger(Workers.class);
  private static final String TASK_CPUS = "spark.task.cpus";

  /** One for each executor, with all of its cores, unless the estimator asks for others. */
  static Workers choose(JavaSparkContext context, ThalwegEstimator estimator) {
    SparkConf conf = context.getConf();
    boolean local = context.sc().isLocal();
    boolean dynamic = RegisteredExecutors.dynamic(conf);
    int taskCpus = conf.getInt(TASK_CPUS, 1);
    Optional<Integer> chosen = estimator.value(estimator.numWorkers()).map(value -> (int) value);
    List<Executor> executors =
        local ? List.of() : RegisteredExecutors.await(context, chosen.orElse(Integer.MAX_VALUE));
    int places = Math.max(1, executors.size());
    int count = chosen.orElse(places);
    if (count < 1) {
      throw new ThalwegException("numWorkers is " + count + ", must be at least 1");
    }
    int cores = local ? localCores(context.sc(), taskCpus) : fewestCores(executors, conf, taskCpus);
    Optional<Integer> asked = estimator.value(estimator.threads()).map(value -> (int) value);
    int wanted = asked.map(threads -> Math.min(threads, cores)).orElse(cores / ((count + places - 1) / places));
    // With dynamic allocation, a claim of its own would get executors of its own, beside those that hold the data.
    WorkerCpus cpus = WorkerCpus.claim(context.sc(), local || dynamic ? taskCpus : wanted, taskCpus);
    checkRoom(count, cpus, context.sc(), dynamic);
    int perExecutor = local ? count : Math.min(count, Math.max(1, mostCores(executors, cores) / cpus.count()));
    int threads = asked.orElse(cpus.profile().isPresent() ? cpus.count() : Math.max(taskCpus, cores / perExecutor));
    LOG.info("Thalweg trains with {} worker(s) of {} thread(s), at most {} in an executor: there are {} executor(s) of {}"
        + " core(s), of which Spark keeps {} for each worker", count, threads, perExecutor, places, cores, cpus.count());
    return new Workers(count, perExecutor, threads, asked.isPresent(), cpus, executors, context);
  }

  private static void checkRoom(int count, WorkerCpus cpus, SparkContext context, boolean dynamic) {
    int slots = cpus.slots(context);
    if (count > slots && !dynamic) {
      throw new ThalwegException(
          count + " workers cannot train at the same time: the executors have room for " + slots + " tasks of "
              + cpus.count() + " core(s). Ask for fewer workers (numWorkers) or threads, or for more executors or cores");
    }
  }

  private static int localCores(SparkContext context, int taskCpus) {
    return taskCpus * Math.max(1, new WorkerCpus(taskCpus, Optional.empty()).slots(context));
  }

  private static int fewestCores(List<Executor> executors, SparkConf conf, int taskCpus) {
    int asked = conf.getInt("spark.executor.cores", taskCpus);
    return Math.max(taskCpus, executors.stream().mapToInt(Executor::cores).min().orElse(asked));
  }

  private static int mostCores(List<Executor> executors, int otherwise) {
    return executors.stream().mapToInt(Executor::cores).max().orElse(otherwise);
  }

  /** An address of the driver that executors can reach. */
  String driverHost() {
    return context.getConf().get("spark.driver.host", "127.0.0.1");
  }

  /** Waits until all of them find room at once, beside the workers of other fits. */
  FitTurn takeTurn() {
    boolean known = !RegisteredExecutors.dynamic(context.getConf());
    int taskCpus = context.getConf().getInt(TASK_CPUS, 1);
    boolean local = context.sc().isLocal();
    int total = local ? localCores(context.sc(), taskCpus) : executors.stream().mapToInt(Executor::cores).sum();
    return FitTurn.take(count * cpus.count(), known ? total : 0);
  }

  /**
   * The rows in as many partitions as there are workers, without moving any; some may have none. Those of {@code ofAll}, if
   * it is not null, follow in every partition.
   */
  JavaRDD<InternalRow> spread(Dataset<Row> rows, Dataset<Row> ofAll) {
    JavaRDD<InternalRow> partitions = followed(rows);
    int missing = count - partitions.getNumPartitions();
    if (missing > 0) {
      partitions = partitions.union(context.parallelize(List.<InternalRow>of(), missing));
    }
    int common = 0;
    if (ofAll != null) {
      JavaRDD<InternalRow> more = followed(ofAll);
      common = more.getNumPartitions();
      partitions = partitions.union(more);
    }
    AdjacentPartitions dealer = new AdjacentPartitions(new WorkerPlaces(executors, perExecutor), common);
    JavaRDD<InternalRow> dealt = new PlacedPartitions(partitions.rdd(), count, dealer).toJavaRDD();
    return cpus.profile().map(dealt::withResources).orElse(dealt);
  }

  /** So that messages can say which row it is about. */
  private static JavaRDD<InternalRow> followed(Dataset<Row> rows) {
    return RowPosition.follow(QueryPlans.executionOf(rows).toRdd().toJavaRDD());
  }
}
