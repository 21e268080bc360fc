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

  private RegisteredExecutors() {}

  static boolean dynamic(SparkConf conf) {
    return conf.getBoolean("spark.dynamicAllocation.enabled", false);
  }

  /**
   * Those there are. Spark begins before all have come (on YARN with four fifths of them), so the others that were asked
   * for are waited for a while, but for no more than {@code most}.
   */
  static List<Executor> await(JavaSparkContext context, int most) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(WAIT_SECONDS);
    int asked = Math.min(most, asked(context.getConf(), context.master()));
    for (; ; ) {
      List<Executor> found = now(context);
      // The list follows what the scheduler knows with a little delay.
      int known = context.sc().getExecutorIds().size();
      boolean all = found.size() >= Math.max(asked, known);
      if (all || System.nanoTime() > end) {
        if (!all) {
          LOG.warn("Thalweg: {} of {} executors have come within {} s; the fit goes on with these",
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
    return counted ? conf.getInt("spark.executor.instances", 1) : 1;
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
