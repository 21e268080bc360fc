// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace thalweg::data {

/// An element with its children in order, or its text.
struct XmlElement {
  std::string name;
  /// Between its tags, without children and without white space at either end; entities are resolved.
  std::string text;
  std::vector<XmlElement> children;

  /// The first child of this name; null if there is none.
  const XmlElement* child(std::string_view wanted) const;
};

/// The outermost element of an XML document. Attributes, comments and processing instructions are read over; a document
/// type, with which entities could be declared, is an Error, as is what is cut short or nested beyond what annotations
/// are. Errors begin with `name` and say the line.
XmlElement parse_xml(std::string_view text, const std::string& name);

}  // namespace thalweg::data
