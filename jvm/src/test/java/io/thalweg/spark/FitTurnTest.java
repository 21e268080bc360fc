// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalweg.ThalwegException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;

class FitTurnTest {
  private static final long PATIENCE_SECONDS = 60;

  private static CompletableFuture<Integer> fit(int cpus, int total) {
    return CompletableFuture.supplyAsync(
        () -> {
          try (FitTurn turn = FitTurn.take(cpus, total)) {
            return cpus;
          }
        });
  }

  @Test
  void fitsWaitForRoomForAllOfTheirWorkers() throws Exception {
    CompletableFuture<Integer> large;
    try (FitTurn first = FitTurn.take(2, 4)) {
      assertEquals(2, fit(2, 4).get(PATIENCE_SECONDS, TimeUnit.SECONDS));
      large = fit(3, 4);
      assertThrows(TimeoutException.class, () -> large.get(200, TimeUnit.MILLISECONDS));
    }
    assertEquals(3, large.get(PATIENCE_SECONDS, TimeUnit.SECONDS));
    // One that there is no room for at all is Spark's to complain of.
    assertEquals(9, fit(9, 4).get(PATIENCE_SECONDS, TimeUnit.SECONDS));
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
