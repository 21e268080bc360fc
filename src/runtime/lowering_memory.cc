// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The second half of lowering: when each buffer is alive, which ones share memory, and where they lie.
#include <algorithm>

#include "runtime/lowering.h"
#include "runtime/memory_plan.h"

namespace thalweg {

int Lowering::root_of(int buffer) const {
  while (program_.buffers_[static_cast<size_t>(buffer)].root != buffer) {
    buffer = program_.buffers_[static_cast<size_t>(buffer)].root;
  }
  return buffer;
}

void Lowering::use(int buffer, int step) {
  if (buffer < 0) return;
  Buffer& entry = program_.buffers_[static_cast<size_t>(root_of(buffer))];
  if (entry.first_step < 0) entry.first_step = step;
  entry.last_step = std::max(entry.last_step, step);
  if (entry.kind == Buffer::Kind::kVariable) {
    int& last = last_read_[entry.place];
    last = std::max(last, step);
  }
}

void Lowering::set_lifetimes() {
  std::vector<Buffer>& buffers = program_.buffers_;
  // Views first: their reads count for the memory that they share.
  for (auto* list : {&program_.prologue_, &program_.steps_}) {
    for (const Step& step : *list) {
      if (step.kernel->alias_of_input < 0) continue;
      const int source = root_of(step.inputs[static_cast<size_t>(step.kernel->alias_of_input)]);
      buffers[static_cast<size_t>(step.outputs[0])].root = source;
    }
  }
  const int count = static_cast<int>(program_.steps_.size());
  for (int s = 0; s < count; ++s) {
    Step& step = program_.steps_[static_cast<size_t>(s)];
    for (int buffer : step.inputs) use(buffer, s);
    for (int buffer : step.outputs) use(buffer, s);
    use(step.scratch, s);
  }
  for (size_t i = 0; i < program_.outputs_.size(); ++i) {
    use(program_.outputs_[i], i < program_.options_.early_outputs ? static_cast<int>(program_.pause_step_) : count);
  }
  for (const auto& [variable, buffer] : program_.assignments_) use(buffer, count);

  std::map<int, int> gradients_in;  // of each memory
  for (const GradientSlot& slot : program_.gradients_) {
    if (!slot.sparse) ++gradients_in[root_of(slot.dense)];
  }
  for (GradientSlot& slot : program_.gradients_) {
    for (int buffer : {slot.dense, slot.indices, slot.rows}) {
      if (buffer < 0) continue;
      const Buffer& entry = buffers[static_cast<size_t>(root_of(buffer))];
      // The writer is the last step that lists this buffer as an output; steps are scanned once per gradient buffer.
      for (int s = count - 1; s >= 0; --s) {
        const auto& outputs = program_.steps_[static_cast<size_t>(s)].outputs;
        if (std::any_of(outputs.begin(), outputs.end(),
                        [&](int o) { return o >= 0 && root_of(o) == root_of(buffer); })) {
          slot.ready_step = std::max(slot.ready_step, s);
          break;
        }
      }
      if (entry.kind == Buffer::Kind::kInput) slot.ready_step = std::max(slot.ready_step, 0);
    }
    const auto read = last_read_.find(slot.variable);
    if (read != last_read_.end()) slot.ready_step = std::max(slot.ready_step, std::min(read->second, count - 1));
    if (!slot.sparse) {
      const Buffer& entry = buffers[static_cast<size_t>(root_of(slot.dense))];
      slot.own_memory = entry.kind == Buffer::Kind::kArena && entry.last_step <= slot.ready_step &&
                        gradients_in[root_of(slot.dense)] == 1;
    }
    const int until = program_.options_.keep_gradients ? count : slot.ready_step;
    for (int buffer : {slot.dense, slot.indices, slot.rows}) use(buffer, until);
  }
  last_read_.clear();
}

void Lowering::hold_variables() {
  for (const Buffer& buffer : program_.buffers_) {
    if (buffer.kind == Buffer::Kind::kVariable && buffer.first_step >= 0) program_.variables_->hold(buffer.place);
  }
}

void Lowering::share_memory() {
  std::vector<Buffer>& buffers = program_.buffers_;
  for (size_t s = 0; s < program_.steps_.size(); ++s) {
    const Step& step = program_.steps_[s];
    std::vector<int> taken;
    for (const auto& [in, out] : step.kernel->in_place) {
      const int source = step.inputs[static_cast<size_t>(in)];
      const int target = step.outputs[static_cast<size_t>(out)];
      if (source < 0 || target < 0) continue;
      const int source_root = root_of(source);
      Buffer& from = buffers[static_cast<size_t>(source_root)];
      Buffer& to = buffers[static_cast<size_t>(target)];
      if (from.kind != Buffer::Kind::kArena || to.kind != Buffer::Kind::kArena || to.root != target) continue;
      if (from.last_step != static_cast<int>(s) || from.bytes < to.bytes) continue;
      if (std::count(step.inputs.begin(), step.inputs.end(), source) > 1) continue;
      if (std::find(taken.begin(), taken.end(), source_root) != taken.end()) continue;
      taken.push_back(source_root);
      to.root = source_root;
      from.last_step = std::max(from.last_step, to.last_step);
    }
  }
}

void Lowering::find_once_buffers() {
  // What no step of a run uses has no lifetime yet: it gets one in terms of the steps that run once.
  for (Buffer& buffer : program_.buffers_) {
    if (buffer.kind == Buffer::Kind::kPersistent && buffer.first_step < 0) buffer.kind = Buffer::Kind::kOnce;
  }
  for (size_t s = 0; s < program_.prologue_.size(); ++s) {
    const Step& step = program_.prologue_[s];
    const auto extend = [&](int buffer) {
      const bool once =
          buffer >= 0 && program_.buffers_[static_cast<size_t>(root_of(buffer))].kind == Buffer::Kind::kOnce;
      if (once) use(buffer, static_cast<int>(s));
    };
    for (int buffer : step.inputs) extend(buffer);
    for (int buffer : step.outputs) extend(buffer);
    extend(step.scratch);
  }
}

size_t Lowering::place_by_lifetime(Buffer::Kind kind) {
  std::vector<Buffer>& buffers = program_.buffers_;
  std::vector<Interval> intervals;
  std::vector<size_t> owners;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& buffer = buffers[i];
    if (buffer.kind != kind || buffer.first_step < 0 || root_of(static_cast<int>(i)) != static_cast<int>(i)) continue;
    intervals.push_back({buffer.bytes, buffer.first_step, buffer.last_step});
    owners.push_back(i);
  }
  const MemoryPlan plan = plan_memory(intervals);
  for (size_t i = 0; i < owners.size(); ++i) buffers[owners[i]].place = plan.offsets[i];
  return plan.total_bytes;
}

void Lowering::place_buffers() {
  std::vector<Buffer>& buffers = program_.buffers_;
  for (size_t i = 0; i < buffers.size(); ++i) {
    Buffer& buffer = buffers[i];
    if (buffer.kind != Buffer::Kind::kPersistent || root_of(static_cast<int>(i)) != static_cast<int>(i)) continue;
    buffer.place = program_.persistent_bytes_;
    program_.persistent_bytes_ += (buffer.bytes + 63) / 64 * 64;
  }
  program_.arena_bytes_ = place_by_lifetime(Buffer::Kind::kArena);
  program_.once_bytes_ = place_by_lifetime(Buffer::Kind::kOnce);
  for (size_t i = 0; i < buffers.size(); ++i) {
    const int root = root_of(static_cast<int>(i));
    if (root == static_cast<int>(i)) continue;
    buffers[i].root = root;
    buffers[i].kind = buffers[static_cast<size_t>(root)].kind;
    buffers[i].place = buffers[static_cast<size_t>(root)].place;
    buffers[i].constant = buffers[static_cast<size_t>(root)].constant;
  }
}

}  // namespace thalweg
