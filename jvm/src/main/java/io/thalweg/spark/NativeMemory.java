// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.ThalwegException;
import java.util.OptionalLong;
import org.apache.spark.SparkConf;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What an executor has outside of its heap, where rows and model are while training.
 *
 * @param bytes as Spark asks the cluster for them: spark.executor.memoryOverhead
 * @param enforced whether an executor that takes more is killed, as on YARN and Kubernetes
 */
record NativeMemory(long bytes, boolean enforced) {
  private static final Logger LOG = LoggerFactory.getLogger(NativeMemory.class);
  private static final long MIB = 1 << 20;
  /** What the JVM itself takes there: classes, compiled code, stacks, buffers of the network. */
  private static final long JVM_BYTES = 256 * MIB;
  /** With less room for rows, training would read the disk all the time. */
  private static final long LEAST_ROW_BYTES = 32 * MIB;

  /** By the rules of Spark's settings. */
  static NativeMemory of(SparkConf conf, String master) {
    boolean kubernetes = master.startsWith("k8s");
    boolean enforced = kubernetes || master.startsWith("yarn");
    long heap = conf.getSizeAsMb("spark.executor.memory", "1g");
    boolean java = conf.get("spark.kubernetes.resource.type", "java").equals("java");
    double factor = conf.getDouble("spark.executor.memoryOverheadFactor", kubernetes && !java ? 0.4 : 0.1);
    long least = conf.getSizeAsMb("spark.executor.minMemoryOverhead", "384m");
    long usual = Math.max((long) (factor * heap), least);
    return new NativeMemory(conf.getSizeAsMb("spark.executor.memoryOverhead", usual + "m") * MIB, enforced);
  }

  /**
   * How many bytes of rows each worker may keep in memory; empty: as many as it likes. Throws if there is not enough for
   * the model, or for as many rows as were asked for.
   *
   * @param modelBytes that each worker needs besides its rows
   */
  OptionalLong rowBytes(int workersOfAnExecutor, long modelBytes, OptionalLong asked) {
    long rows = asked.orElse(LEAST_ROW_BYTES);
    long needed = JVM_BYTES + workersOfAnExecutor * (modelBytes + rows);
    if (needed > bytes) {
      String text = explain(workersOfAnExecutor, modelBytes, rows, needed);
      if (enforced) {
        throw new ThalwegException(text);
      }
      LOG.warn("Thalweg: {} (this cluster does not enforce it)", text);
    }
    if (asked.isPresent() || !enforced) {
      return asked;
    }
    long left = (bytes - JVM_BYTES) / workersOfAnExecutor - modelBytes;
    LOG.info("Thalweg keeps up to {} MiB of each worker's rows in memory, further ones on disk: the rest of"
        + " spark.executor.memoryOverhead ({} MiB)", left / MIB, bytes / MIB);
    return OptionalLong.of(left);
  }

  private String explain(int workersOfAnExecutor, long modelBytes, long rows, long needed) {
    return "an executor needs about " + mebibytes(needed) + " MiB outside of its heap: for each of its "
        + workersOfAnExecutor + " worker(s) " + mebibytes(modelBytes) + " MiB for the model, its gradients and a batch and "
        + mebibytes(rows) + " MiB for rows, and " + JVM_BYTES / MIB + " MiB for the JVM; it has " + bytes / MIB
        + " MiB. Set spark.executor.memoryOverhead to " + mebibytes(needed) + "m or more"
        + (rows > LEAST_ROW_BYTES ? ", or memoryBytes to less" : "");
  }

  private static long mebibytes(long count) {
    return (count + MIB - 1) / MIB;
  }
}
