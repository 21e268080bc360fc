// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalweg.ThalwegException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class FitTurnTest {
  private static final long PATIENCE_SECONDS = 60;

  /** A fit that ends as soon as it has had its turn. */
  private static final class Fit extends Thread {
    private final CompletableFuture<Integer> ended = new CompletableFuture<>();
    private final int cpus;
    private final int total;

    Fit(int cpus, int total) {
      this.cpus = cpus;
      this.total = total;
      start();
    }

    @Override
    public void run() {
      try (FitTurn turn = FitTurn.take(cpus, total)) {
        ended.complete(cpus);
      }
    }

    int result() throws Exception {
      return ended.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    /** Until it waits for others, or has ended. */
    void awaitWaiting() throws InterruptedException {
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
      while (getState() != State.WAITING && !ended.isDone() && System.nanoTime() < end) {
        Thread.sleep(1);
      }
    }
  }

  @Test
  void fitsWaitForRoomForAllOfTheirWorkers() throws Exception {
    Fit large;
    try (FitTurn first = FitTurn.take(2, 4)) {
      assertEquals(2, new Fit(2, 4).result());
      large = new Fit(3, 4);
      large.awaitWaiting();
      assertEquals(Thread.State.WAITING, large.getState());
    }
    assertEquals(3, large.result());
    // One that there is no room for at all is Spark's to complain of.
    assertEquals(9, new Fit(9, 4).result());
  }

  @Test
  void aFitThatWaitsCanBeInterrupted() throws Exception {
    CompletableFuture<String> told = new CompletableFuture<>();
    try (FitTurn first = FitTurn.take(1, 0)) {
      Thread waiting =
          new Thread(() -> told.complete(assertThrows(ThalwegException.class, () -> FitTurn.take(1, 0)).getMessage()));
      waiting.start();
      waiting.interrupt();
      assertEquals(
          "training was cancelled while it waited for another fit to end", told.get(PATIENCE_SECONDS, TimeUnit.SECONDS));
    }
  }
}
