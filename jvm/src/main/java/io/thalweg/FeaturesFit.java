// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.thalweg.jni.NativeFeaturesFit;
import java.util.ArrayList;
import java.util.List;

/** Features of tables that learn of rows in several places, pass by pass. Used by one thread. */
public final class FeaturesFit implements AutoCloseable {
  /**
   * Where a fit stands between passes.
   *
   * @param done whether no further pass is needed
   * @param features as JSON, with what they have learned
   * @param columns that rows must have for this pass
   * @param imputed those of them that may lack values
   * @param json all of it, for a fit elsewhere
   */
  public record Plan(boolean done, String features, List<String> columns, List<String> imputed, String json) {}

  private long handle;

  /** {@code plan} is features as JSON, or that of another fit. */
  public FeaturesFit(String plan) {
    handle = NativeFeaturesFit.create(plan);
  }

  public Plan plan() {
    String json = NativeFeaturesFit.plan(open());
    try {
      JsonNode plan = new ObjectMapper().readTree(json);
      return new Plan(
          plan.get("done").asBoolean(), plan.get("features").toString(), names(plan, "columns"), names(plan, "imputed"), json);
    } catch (JsonProcessingException problem) {
      throw new ThalwegException("where a fit of features stands cannot be read: " + json, problem);
    }
  }

  private static List<String> names(JsonNode plan, String key) {
    List<String> names = new ArrayList<>();
    plan.get(key).forEach(name -> names.add(name.asText()));
    return names;
  }

  public void see(List<Preparation.Values> columns, long rows) {
    RawArrays arrays = new RawArrays(columns);
    NativeFeaturesFit.see(open(), arrays.names, arrays.dtypes, arrays.values, arrays.offsets, arrays.missing, rows);
  }

  /** What was seen in this pass, for {@link #merge} of another fit with the same plan. */
  public String state() {
    return NativeFeaturesFit.state(open());
  }

  public void merge(String state) {
    NativeFeaturesFit.merge(open(), state);
  }

  /** The features learn what was seen and merged. */
  public void endPass() {
    NativeFeaturesFit.endPass(open());
  }

  @Override
  public void close() {
    long old = handle;
    handle = 0;
    NativeFeaturesFit.free(old);
  }

  private long open() {
    if (handle == 0) {
      throw new ThalwegException("the fit of features is closed");
    }
    return handle;
  }
}
