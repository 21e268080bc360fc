// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.thalweg.Model;
import io.thalweg.ThalwegException;
import io.thalweg.ValueInfo;
import java.util.List;

/**
 * What a model takes and gives, as the driver needs it to check columns before anything runs.
 *
 * @param classNames empty if the model carries none
 * @param preprocessing of images, as JSON; null if the model carries none
 */
record ModelSignature(
    List<ValueInfo> inputs, List<ValueInfo> outputs, List<String> classNames, String preprocessing) {
  /** Loads the model, so that one the engine cannot run is refused here and not by a task. */
  static ModelSignature of(ModelFile file) {
    try (Model model = new Model(file.path(), 0, Model.Precision.DECLARED)) {
      return new ModelSignature(
          model.inputs(), model.outputs(), names(model.metadata("thalweg.class_names")), model.metadata("thalweg.preprocessing"));
    }
  }

  private static List<String> names(String json) {
    if (json == null) {
      return List.of();
    }
    try {
      return List.of(new ObjectMapper().readValue(json, String[].class));
    } catch (JsonProcessingException problem) {
      throw new ThalwegException("the model's metadata property thalweg.class_names is no list of texts: " + json, problem);
    }
  }
}
