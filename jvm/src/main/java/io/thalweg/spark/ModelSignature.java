// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.Model;
import io.thalweg.ValueInfo;
import java.util.List;

/** What a model takes and gives, as the driver needs it to check columns before anything runs. */
record ModelSignature(List<ValueInfo> inputs, List<ValueInfo> outputs) {
  /** Loads the model, so that one the engine cannot run is refused here and not by a task. */
  static ModelSignature of(ModelFile file) {
    try (Model model = new Model(file.path(), 0, Model.Precision.DECLARED)) {
      return new ModelSignature(model.inputs(), model.outputs());
    }
  }
}
