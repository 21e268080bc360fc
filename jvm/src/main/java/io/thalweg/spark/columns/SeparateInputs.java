// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg.spark.columns;

import io.thalweg.Tensor;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import org.apache.spark.sql.Row;

/** Each input of a model has columns of its own, whose numbers or images it takes as they are. */
public final class SeparateInputs implements RowInputs {
  private static final long serialVersionUID = 1L;

  private final ArrayList<ModelInput> inputs;

  public SeparateInputs(List<ModelInput> inputs) {
    this.inputs = new ArrayList<>(inputs);
  }

  List<ModelInput> inputs() {
    return inputs;
  }

  @Override
  public long fixedRows() {
    return inputs.stream().mapToLong(input -> input.info().fixedRows()).max().orElse(-1);
  }

  @Override
  public long rowBytes() {
    long bytes = 0;
    for (ModelInput input : inputs) {
      if (input.rowBytes() < 0) {
        return -1;
      }
      bytes += input.rowBytes();
    }
    return bytes;
  }

  @Override
  public Batch newBatch() {
    List<InputBatch> batches = new ArrayList<>();
    inputs.forEach(input -> batches.add(input.newBatch()));
    return new Batches(batches);
  }

  private record Batches(List<InputBatch> inputs) implements Batch {
    @Override
    public boolean accepts(Row row) {
      for (InputBatch input : inputs) {
        if (!input.accepts(row)) {
          return false;
        }
      }
      return true;
    }

    /** To all inputs, or to none. */
    @Override
    public void add(Row row, int capacity) {
      int done = 0;
      try {
        for (; done < inputs.size(); ++done) {
          inputs.get(done).add(row, capacity);
        }
      } finally {
        if (done < inputs.size()) {
          inputs.subList(0, done).forEach(InputBatch::removeLast);
        }
      }
    }

    @Override
    public void clear() {
      inputs.forEach(InputBatch::clear);
    }

    /** The problem is that of the first bad row, whichever input it is of. */
    @Override
    public String finish(int threads, BitSet bad) {
      String first = null;
      for (InputBatch input : inputs) {
        BitSet found = new BitSet();
        String problem = input.finish(threads, found);
        if (problem != null && (first == null || found.nextSetBit(0) < bad.nextSetBit(0))) {
          first = problem;
        }
        bad.or(found);
      }
      return first;
    }

    @Override
    public void remove(BitSet which) {
      inputs.forEach(input -> input.remove(which));
    }

    @Override
    public List<Tensor> tensors(int total) {
      return inputs.stream().map(input -> input.tensor(total)).toList();
    }

    @Override
    public void close() {
      inputs.forEach(InputBatch::close);
    }
  }
}
