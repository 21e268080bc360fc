// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "formats/onnx/model_file.h"

namespace thalweg::onnx {

/// An ONNX node and its attributes by name. A missing attribute takes the default that the reader gives; one of another
/// kind is an error that names it. Model and node must outlive it.
class NodeAttributes {
 public:
  NodeAttributes(const ModelFile& model, const NodeProto& node) : model_(model), node_(node) {}

  const ModelFile& model() const { return model_; }
  const NodeProto& node() const { return node_; }
  const std::string& op_type() const { return node_.op_type; }
  const std::string& name() const { return node_.name; }

  bool has_attribute(const std::string& name) const { return find(name) != nullptr; }
  int64_t integer(const std::string& name, int64_t fallback) const;
  bool flag(const std::string& name, bool fallback) const { return integer(name, fallback ? 1 : 0) != 0; }
  double real(const std::string& name, double fallback) const;
  std::string text(const std::string& name, const std::string& fallback) const;
  std::vector<int64_t> integers(const std::string& name, const std::vector<int64_t>& fallback = {}) const;
  std::vector<double> reals(const std::string& name, const std::vector<double>& fallback = {}) const;
  std::vector<std::string> texts(const std::string& name) const;
  /// Undefined if missing.
  Tensor tensor(const std::string& name) const;
  /// Throws if missing.
  const GraphProto& body(const std::string& name) const;

 private:
  const AttributeProto* find(const std::string& name) const;
  const AttributeProto* find(const std::string& name, AttributeProto::Type type) const;

  const ModelFile& model_;
  const NodeProto& node_;
};

}  // namespace thalweg::onnx
