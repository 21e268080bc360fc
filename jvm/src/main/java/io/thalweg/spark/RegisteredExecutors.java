// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.ThalwegException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.status.api.v1.ExecutorSummary;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.collection.Iterator;

/** The executors that an application has. */
final class RegisteredExecutors {
  /** One of them, with the cores that Spark gives out to tasks. */
  record Executor(String id, String host, int cores) {
    /** As Spark writes a place that a task prefers. */
    String place() {
      return "executor_" + host + "_" + id;
    }
  }

  private static final Logger LOG = LoggerFactory.getLogger(RegisteredExecutors.class);
  private static final String DRIVER = "driver";
  private static final Pattern LOCAL_CLUSTER = Pattern.compile("local-cluster\\[\\s*(\\d+)\\s*,.*");
  /** As long as Spark itself waits for executors before it begins (spark.scheduler.maxRegisteredResourcesWaitingTime). */
  private static final long WAIT_SECONDS = 30;
  private static final long INTERVAL_MILLISECONDS = 50;
  private static final long LEAST_QUIET_MILLISECONDS = 500;
  private static final long MOST_QUIET_MILLISECONDS = 3000;
  private static final String CORES_MAX = "spark.cores.max";
  private static final String EXECUTOR_CORES = "spark.executor.cores";
  private static final String INSTANCES = "spark.executor.instances";

  private RegisteredExecutors() {}

  static boolean dynamic(SparkConf conf) {
    return conf.getBoolean("spark.dynamicAllocation.enabled", false);
  }

  /**
   * Those there are. Spark begins before all have come (on YARN with four fifths of them), so the others that were asked
   * for are waited for a while, but for no more than {@code most}. Where the settings do not say how many there will be, as
   * on a stand-alone cluster, they have all come when no more come.
   */
  static List<Executor> await(JavaSparkContext context, int most) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(WAIT_SECONDS);
    int asked = Math.min(most, asked(context.getConf(), context.master()));
    int limit = Math.min(most, limit(context.getConf(), context.master()));
    for (; ; ) {
      List<Executor> found = now(context);
      // The list follows what the scheduler knows with a little delay.
      int known = context.sc().getExecutorIds().size();
      boolean all = found.size() >= Math.max(asked, known) && (found.size() >= limit || isQuiet(context, limit));
      if (all || System.nanoTime() > end) {
        if (!all) {
          LOG.warn("Thalweg: {} of {} executors have come within {} s; it goes on with these",
              found.size(), Math.max(asked, known), WAIT_SECONDS);
        }
        return found;
      }
      pause();
    }
  }

  private static void pause() {
    try {
      Thread.sleep(INTERVAL_MILLISECONDS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new ThalwegException("training was cancelled while it waited for executors", interrupted);
    }
  }

  /** How many there will be, as far as the settings say: at least one, unless they come when they are needed. */
  static int asked(SparkConf conf, String master) {
    if (dynamic(conf)) {
      return 0;
    }
    Matcher cluster = LOCAL_CLUSTER.matcher(master);
    if (cluster.matches()) {
      return Integer.parseInt(cluster.group(1));
    }
    boolean counted = master.startsWith("yarn") || master.startsWith("k8s");
    return counted ? conf.getInt(INSTANCES, 1) : 1;
  }

  /** How many there can be at most; as many as may be where the settings do not say it. */
  static int limit(SparkConf conf, String master) {
    if (dynamic(conf) || LOCAL_CLUSTER.matcher(master).matches()) {
      return asked(conf, master);
    }
    if (!master.startsWith("spark:")) {
      return conf.getInt(INSTANCES, Integer.MAX_VALUE);
    }
    boolean known = conf.contains(CORES_MAX) && conf.contains(EXECUTOR_CORES);
    return known ? Math.max(1, conf.getInt(CORES_MAX, 1) / conf.getInt(EXECUTOR_CORES, 1)) : Integer.MAX_VALUE;
  }

  private static boolean isQuiet(JavaSparkContext context, int limit) {
    long newest = context.startTime();
    for (Iterator<ExecutorSummary> all = context.sc().statusStore().executorList(true).iterator(); all.hasNext(); ) {
      ExecutorSummary executor = all.next();
      newest = executor.id().equals(DRIVER) ? newest : Math.max(newest, executor.addTime().getTime());
    }
    long taken = limit < Integer.MAX_VALUE ? Long.MAX_VALUE : newest - context.startTime();
    return isQuiet(taken, System.currentTimeMillis() - newest);
  }

  /**
   * Whether no more are to be expected, by how many milliseconds it took the newest to come and how many have gone by since:
   * where one needs long to start, so may the next. Those that settings ask for are given the longest time.
   */
  static boolean isQuiet(long taken, long since) {
    return since >= Math.max(LEAST_QUIET_MILLISECONDS, Math.min(MOST_QUIET_MILLISECONDS, taken / 2));
  }

  /** Those that Spark has told its listeners of, which may take it a moment. */
  static List<Executor> now(JavaSparkContext context) {
    List<Executor> found = new ArrayList<>();
    for (Iterator<ExecutorSummary> all = context.sc().statusStore().executorList(true).iterator(); all.hasNext(); ) {
      ExecutorSummary executor = all.next();
      if (!executor.id().equals(DRIVER)) {
        found.add(new Executor(executor.id(), hostOf(executor.hostPort()), executor.totalCores()));
      }
    }
    return found;
  }

  /** Spark knows an executor's host before it knows the port. */
  static String hostOf(String address) {
    int colon = address.lastIndexOf(':');
    return colon < 0 ? address : address.substring(0, colon);
  }
}
