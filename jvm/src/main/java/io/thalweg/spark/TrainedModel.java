// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a fit gives.
 *
 * @param file in this host's cache
 * @param loss the name of the one that it was trained with
 * @param report JSON: "workers", "places" (what each worker is called, its threads and rows), "steps", "tls", "epochs" (a
 *     list of records), "scheme" (what "auto" became, and why, if it was asked for), "rows", "skipped_rows" (left out because their values do not fit) and "skipped_samples" (left out
 *     because their images cannot be read, each in every epoch)
 */
record TrainedModel(ModelFile file, String report, String loss) {
  private static final Logger LOG = LoggerFactory.getLogger(TrainedModel.class);
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** Of what the workers gave back, one of them the model. */
  static TrainedModel of(ModelFile model, TrainingOutcome giver, List<TrainingOutcome> outcomes, String loss)
      throws IOException {
    return new TrainedModel(model, report(giver, outcomes), loss);
  }

  /** What one worker says of the whole, with the sums over all. */
  private static String report(TrainingOutcome speaker, List<TrainingOutcome> outcomes) throws IOException {
    long skippedRows = 0;
    long skippedSamples = 0;
    for (TrainingOutcome outcome : outcomes) {
      skippedRows += outcome.skippedRows();
      JsonNode said = MAPPER.readTree(outcome.report() == null ? "{}" : outcome.report());
      skippedSamples += said.path("skipped").path("count").asLong();
    }
    if (skippedRows + skippedSamples > 0) {
      LOG.warn("Thalweg left out {} rows whose values do not fit, and, over all epochs, {} samples that cannot be read",
          skippedRows, skippedSamples);
    }
    JsonNode own = MAPPER.readTree(speaker.report());
    ObjectNode report = MAPPER.createObjectNode();
    report.set("workers", own.get("workers"));
    ArrayNode places = report.putArray("places");
    for (TrainingOutcome outcome : outcomes) {
      if (outcome.report() != null) {
        places.addObject().put("worker", outcome.place()).put("threads", outcome.threads()).put("rows", outcome.rows());
      }
    }
    report.set("steps", own.get("steps"));
    report.set("tls", own.get("tls"));
    report.set("epochs", own.get("epochs"));
    if (own.hasNonNull("scheme")) {
      report.set("scheme", own.get("scheme"));
      LOG.info("the scheme auto became {}", own.get("scheme"));
    }
    report.set("rows", own.get("rows"));
    return report.put("skipped_rows", skippedRows).put("skipped_samples", skippedSamples).toString();
  }
}
