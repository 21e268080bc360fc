// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.thalweg.Rendezvous;
import io.thalweg.ThalwegException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Waits for a training to end, shows how it goes, and gives up if it cannot be done. */
final class FitWatch {
  private static final Logger LOG = LoggerFactory.getLogger(FitWatch.class);
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final long INTERVAL_MILLISECONDS = 100;

  private final Rendezvous rendezvous;
  private final TrainingJobs jobs;
  private final FitMetrics metrics = new FitMetrics();
  private final ProgressLine line;

  /** @param progress hears how it goes, a line each time */
  FitWatch(Rendezvous rendezvous, TrainingJobs jobs, Consumer<String> progress) {
    this.rendezvous = rendezvous;
    this.jobs = jobs;
    this.line = new ProgressLine(progress);
  }

  /** What the workers gave back. */
  List<TrainingOutcome> await() throws IOException {
    try {
      Optional<List<TrainingOutcome>> ended = jobs.outcomes();
      for (; ended.isEmpty(); ended = jobs.outcomes()) {
        jobs.await(INTERVAL_MILLISECONDS, TimeUnit.MILLISECONDS);
        letGo();
        look();
      }
      List<TrainingOutcome> outcomes = new ArrayList<>(ended.get());
      outcomes.addAll(jobs.outcomesOfRestarted());
      show(state());
      return outcomes;
    } catch (ExecutionException failure) {
      String reason = state().get("error").asText();
      throw new ThalwegException(reason.isEmpty() ? "training failed: " + rootCause(failure) : reason, failure.getCause());
    } catch (InterruptedException end) {
      throw new ThalwegException("training was cancelled", end);
    } finally {
      line.end();
      metrics.close();
    }
  }

  private void look() throws IOException {
    JsonNode state = state();
    show(state);
    state.get("forsaken_seats").forEach(seat -> jobs.restart(seat.asInt()));
    String error = state.get("error").asText();
    if (!error.isEmpty()) {
      throw new ThalwegException(error);
    }
  }

  /** Workers keep the model until it is here. */
  private void letGo() {
    if (jobs.hasModel()) {
      rendezvous.acceptModel();
    }
  }

  private JsonNode state() throws IOException {
    return MAPPER.readTree(rendezvous.state());
  }

  private void show(JsonNode state) {
    state.get("log").forEach(text -> LOG.info("Thalweg: {}", text.asText()));
    metrics.update(state);
    line.show(state.get("progress").asText());
  }

  private static String rootCause(Throwable failure) {
    Throwable cause = failure;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    return cause.getMessage();
  }
}
