// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark;

import io.thalweg.ThalwegException;
import io.thalweg.ValueInfo;
import io.thalweg.spark.columns.Json;
import io.thalweg.spark.columns.ModelInput;
import io.thalweg.spark.columns.PreparedInputs;
import io.thalweg.spark.columns.RowInputs;
import io.thalweg.spark.columns.SeparateInputs;
import io.thalweg.spark.columns.SourceColumns;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** Of which columns a model's inputs are made, and by whom: by what its file says of rows, or column by column. */
final class InputChoice {
  static final String COLUMNS = "thalweg.columns";
  static final String TEXT = "thalweg.text";

  /** What the choice depends on. */
  interface OfModel {
    List<ValueInfo> inputs();

    /** The property of this name; null if the file has none. */
    String property(String key);

    /** All that the file says, for {@link io.thalweg.Preparation}. */
    String description();
  }

  private final OfModel model;
  private final SourceColumns source;
  private final boolean nanAllowed;

  /** {@code nanAllowed} is whether NaN in a column that the engine prepares is a number like others. */
  InputChoice(OfModel model, SourceColumns source, boolean nanAllowed) {
    this.model = model;
    this.source = source;
    this.nanAllowed = nanAllowed;
  }

  /**
   * @param asked the columns that the user names, in the order of the model's inputs
   * @param preprocessing of images, as JSON; null if there is none
   */
  RowInputs choose(Optional<String[]> asked, String preprocessing) {
    Optional<String[]> columns = asked.map(source::resolve);
    if (has(TEXT) && columns.map(this::isOneText).orElse(true)) {
      return prepared(null, columns.orElseThrow(() -> unnamed("the column of the texts that the model takes"))[0]);
    }
    boolean features = has(CategoryFeatures.PROPERTY);
    if (has(COLUMNS) && features) {
      columns.ifPresent(this::requireNeeded);
      return prepared(null, null);
    }
    if (has(COLUMNS) && columns.isEmpty()) {
      return prepared(null, null);
    }
    String[] named = columns.orElseThrow(() -> unnamed("the columns of the model's inputs, in their order"));
    if (features && CategoryFeatures.fromJson(model.property(CategoryFeatures.PROPERTY)).isEmpty()) {
      return prepared(ofOnlyInput(named), null);
    }
    return new SeparateInputs(ModelInput.assign(model.inputs(), source, named, preprocessing));
  }

  private PreparedInputs prepared(String columns, String text) {
    return PreparedInputs.of(model.description(), columns, model.inputs(), source, text, nanAllowed);
  }

  private boolean has(String key) {
    return model.property(key) != null;
  }

  private boolean isOneText(String[] columns) {
    return columns.length == 1 && source.isText(columns[0]);
  }

  /** The file says which columns it takes by which features: others would be taken for these without a word. */
  private void requireNeeded(String[] columns) {
    List<String> needed = PreparedInputs.needs(model.description());
    for (String column : columns) {
      if (needed.stream().noneMatch(name -> source.resolve(name).equals(column))) {
        throw new ThalwegException(
            "inputCols has '" + column + "', but the model's file says that its inputs are made of " + String.join(", ", needed)
                + " by its features: leave inputCols out, rename the columns to these, or save the model without its features");
      }
    }
  }

  private String ofOnlyInput(String[] columns) {
    if (model.inputs().size() != 1) {
      throw new ThalwegException(
          "the model's file has features, but does not say of which columns its " + model.inputs().size()
              + " inputs are made (" + COLUMNS + ")");
    }
    return List.of(columns).stream().map(Json::quoted).collect(Collectors.joining(", ", "[[", "]]"));
  }

  private static ThalwegException unnamed(String what) {
    return new ThalwegException("the parameter inputCols is not set: " + what);
  }
}
