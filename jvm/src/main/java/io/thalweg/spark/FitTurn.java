// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.ThalwegException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The right of a fit to begin: it is given when all of its workers find room at once. Two fits of which each had got a part
 * of its workers, as a CrossValidator with some parallelism makes them, would wait for each other.
 */
final class FitTurn implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(FitTurn.class);
  private static final Object CHANGE = new Object();
  /** Of all fits of this driver. */
  private static int cpusTaken;

  private final int cpus;

  private FitTurn(int cpus) {
    this.cpus = cpus;
  }

  /** {@code total} is what all executors have; with 0, which is unknown, no two fits run at the same time. */
  static FitTurn take(int cpus, int total) {
    synchronized (CHANGE) {
      if (cpusTaken > 0 && cpusTaken + cpus > total) {
        LOG.info("Thalweg: the fit waits until another one has ended, for want of {} free cores", cpus);
      }
      while (cpusTaken > 0 && cpusTaken + cpus > total) {
        try {
          CHANGE.wait();
        } catch (InterruptedException interrupted) {
          Thread.currentThread().interrupt();
          throw new ThalwegException("training was cancelled while it waited for another fit to end", interrupted);
        }
      }
      cpusTaken += cpus;
      return new FitTurn(cpus);
    }
  }

  @Override
  public void close() {
    synchronized (CHANGE) {
      cpusTaken -= cpus;
      CHANGE.notifyAll();
    }
  }
}
