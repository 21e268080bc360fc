// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/variables.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace thalweg {

void reorder(const Layout& from, const void* source, const Layout& to, void* target) {
  TW_REQUIRE(from.shape() == to.shape(), "cannot reorder shape ", from.shape(), " into ", to.shape());
  if (from == to) {
    std::memcpy(target, source, from.bytes());
    return;
  }
  if (from.is_plain() && to.is_plain()) {
    const Tensor converted =
        Tensor::borrow(from.dtype(), from.shape(), const_cast<void*>(source), nullptr).to(to.dtype());
    std::memcpy(target, converted.raw(), converted.num_bytes());
    return;
  }
  dnnl::memory in(from.desc_like(to), dnnl_engine(), const_cast<void*>(source));
  dnnl::memory out(to.desc_like(from), dnnl_engine(), target);
  dnnl::reorder(in, out).execute(dnnl_stream(), in, out);
  dnnl_stream().wait();
}

Variables::Variables(Graph& graph) {
  for (Value* value : graph.parameters()) add(value, true);
  for (Value* value : graph.states()) add(value, false);
}

Variables::Variables(std::vector<StoredWeight> weights) {
  for (StoredWeight& weight : weights) {
    Entry entry;
    entry.name = std::move(weight.name);
    entry.layout = Layout(weight.type);
    entry.load = std::move(weight.load);
    entry.parameter = true;
    add(std::move(entry));
  }
}

void Variables::add(Entry entry) {
  by_name_[entry.name] = entries_.size();
  entries_.push_back(std::move(entry));
}

void Variables::add(Value* value, bool parameter) {
  const Tensor data = value->take_data();
  TW_REQUIRE(data.defined(), "'", value->name(), "' has no data: another Variables object holds it");
  Entry entry;
  entry.name = value->name();
  entry.layout = Layout(value->type());
  entry.buffer = AlignedBuffer(entry.layout.bytes());
  entry.parameter = parameter;
  std::memcpy(entry.buffer.data(), data.raw(), data.num_bytes());
  add(std::move(entry));
}

size_t Variables::index(const std::string& name) const {
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) return found->second;
  std::vector<std::string> names;
  for (const Entry& entry : entries_) names.push_back(entry.name);
  raise("the model has no parameter or state '", name, "'; nearest: ", nearest_names(name, names));
}

void Variables::adopt(size_t index, const Layout& layout) {
  Entry& entry = entries_[index];
  TW_REQUIRE(!entry.pinned, "'", entry.name, "' is in use in layout ", entry.layout.to_string());
  if (layout == entry.layout) return;
  AlignedBuffer rearranged(layout.bytes());
  reorder(entry.layout, borrow(index).get(), layout, rearranged.data());
  entry.buffer = std::move(rearranged);
  entry.layout = layout;
  entry.load = nullptr;
  entry.held = {};
}

Tensor Variables::arranged(size_t index, const Layout& layout) {
  Entry& entry = entries_[index];
  TW_REQUIRE(entry.load != nullptr, "'", entry.name, "' is not stored elsewhere");
  std::shared_ptr<AlignedBuffer> memory;
  std::erase_if(entry.arranged, [](const auto& version) { return version.second.expired(); });
  for (const auto& [known, version] : entry.arranged) {
    if (known == layout) memory = version.lock();
  }
  if (memory == nullptr) {
    memory = std::make_shared<AlignedBuffer>(layout.bytes());
    reorder(entry.layout, borrow(index).get(), layout, memory->data());
    entry.arranged.emplace_back(layout, memory);
  }
  return Tensor::borrow(DType::kU8, {static_cast<int64_t>(layout.bytes())}, memory->data(), memory);
}

void* Variables::data(size_t index) const {
  const Entry& entry = entries_[index];
  if (!entry.load) return entry.buffer.data();
  TW_REQUIRE(entry.held.defined(), "'", entry.name, "' is stored elsewhere, and no program holds it");
  return entry.held.raw();
}

std::shared_ptr<const void> Variables::borrow(size_t index) const {
  const Entry& entry = entries_[index];
  if (!entry.load || entry.held.defined()) return {std::shared_ptr<void>(), data(index)};
  const auto content = std::make_shared<const Tensor>(entry.load());
  return {content, content->raw()};
}

Tensor Variables::view(size_t index) const {
  const Entry& entry = entries_[index];
  if (!entry.layout.is_plain()) return read(index);
  const std::shared_ptr<const void> content = borrow(index);
  return Tensor::borrow(entry.layout.dtype(), entry.layout.shape(), const_cast<void*>(content.get()),
                        std::const_pointer_cast<void>(content));
}

bool Variables::stores_elsewhere() const {
  return std::any_of(entries_.begin(), entries_.end(), [](const Entry& entry) { return entry.load != nullptr; });
}

void Variables::hold(size_t index) {
  Entry& entry = entries_[index];
  if (entry.load && !entry.held.defined()) entry.held = entry.load();
}

Tensor Variables::read(size_t index) const {
  const Entry& entry = entries_[index];
  Tensor plain(entry.layout.type());
  reorder(entry.layout, borrow(index).get(), Layout(entry.layout.type()), plain.raw());
  return plain;
}

void Variables::write(size_t index, const Tensor& value) {
  Entry& entry = entries_[index];
  TW_REQUIRE(value.defined() && value.type() == entry.layout.type(), "'", entry.name, "' has type ",
             entry.layout.type(), " and cannot take ", value.type());
  TW_REQUIRE(!entry.load, "'", entry.name, "' is only read, and cannot be changed");
  reorder(Layout(value.type()), value.raw(), entry.layout, entry.buffer.data());
  touch();
}

}  // namespace thalweg
