// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.FeaturesFit;
import io.thalweg.ThalwegException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The columns of a DataFrame that features learn of in a pass. Made by the driver, used by the tasks. */
public final class FeatureRows implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final Logger LOG = LoggerFactory.getLogger(FeatureRows.class);
  /** Enough for a call to cost nothing beside the rows, and little memory. */
  private static final int CHUNK_ROWS = 4096;

  private final String plan;
  private final ArrayList<RawColumn.Spec> columns = new ArrayList<>();
  private final InternalRows rows;
  private final boolean skipBadRows;

  /** Throws if the rows have no such columns. */
  public FeatureRows(FeaturesFit.Plan plan, SourceColumns source, boolean skipBadRows) {
    this.plan = plan.json();
    this.rows = new InternalRows(source.schema());
    this.skipBadRows = skipBadRows;
    for (String name : plan.columns()) {
      columns.add(RawColumn.Spec.of(name, source, plan.imputed().contains(name), false));
    }
  }

  /** What the features see in these rows. */
  public String learn(int partition, Iterator<InternalRow> internal) {
    long read = 0;
    long skipped = 0;
    try (FeaturesFit fit = new FeaturesFit(plan);
        RawColumns chunk = new RawColumns(columns)) {
      for (Iterator<Row> given = rows.convert(internal); given.hasNext(); ++read) {
        try {
          chunk.add(given.next());
        } catch (BadRowException problem) {
          String text = "row " + read + " of partition " + partition + ": " + problem.getMessage();
          if (!skipBadRows) {
            throw new ThalwegException(BadRowException.fatal(text));
          }
          if (skipped++ == 0) {
            LOG.warn("Thalweg leaves out {} (further ones of this partition are only counted)", text);
          }
        }
        if (chunk.rows() == CHUNK_ROWS) {
          see(fit, chunk, partition, read + 1);
        }
      }
      see(fit, chunk, partition, read);
      if (skipped > 0) {
        LOG.warn("Thalweg has left out {} of the {} rows of partition {}", skipped, read, partition);
      }
      return fit.state();
    }
  }

  private static void see(FeaturesFit fit, RawColumns chunk, int partition, long read) {
    try {
      fit.see(chunk.values(), chunk.rows());
      chunk.clear();
    } catch (ThalwegException problem) {
      throw new ThalwegException(
          "among the " + chunk.rows() + " rows before row " + read + " of partition " + partition + ": " + problem.getMessage(), problem);
    }
  }

  /** Of two parts of the rows. */
  public String merged(String one, String other) {
    try (FeaturesFit fit = new FeaturesFit(plan)) {
      for (String state : List.of(one, other)) {
        fit.merge(state);
      }
      return fit.state();
    }
  }
}
