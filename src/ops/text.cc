// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Operators on texts, which the host alone holds.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/limits.h"
#include "graph/host_op.h"
#include "ops/broadcast_index.h"
#include "ops/text_case.h"
#include "thalweg/stored_types.h"

namespace thalweg {
namespace {

using stored::texts_of;

/// The shape that two broadcast to; throws if they do not.
Shape common_shape(const Shape& a, const Shape& b) {
  std::vector<int64_t> dims(static_cast<size_t>(std::max(a.rank(), b.rank())));
  for (int d = 1; d <= static_cast<int>(dims.size()); ++d) {
    const int64_t left = d <= a.rank() ? a[-d] : 1, right = d <= b.rank() ? b[-d] : 1;
    TW_REQUIRE(left == right || left == 1 || right == 1, "shapes ", a, " and ", b, " do not broadcast");
    dims[dims.size() - static_cast<size_t>(d)] = left == 1 ? right : left;
  }
  return Shape(std::move(dims));
}

/// Calls `body(left, right, place)` for each pair of texts that broadcasting makes.
template <typename Body>
Shape for_each_pair(const HostContext& call, Body body) {
  const Tensor &a = call.input(0), &b = call.input(1);
  const Shape shape = common_shape(a.shape(), b.shape());
  const BroadcastIndex left(a.shape(), shape), right(b.shape(), shape);
  require_memory(static_cast<size_t>(shape.num_elements()) * sizeof(std::string));
  for (int64_t i = 0; i < shape.num_elements(); ++i) body(texts_of(a)[left(i)], texts_of(b)[right(i)], i);
  return shape;
}

std::vector<Tensor> concat(const HostContext& call) {
  std::vector<std::string> results;
  const Shape shape =
      for_each_pair(call, [&](const std::string& a, const std::string& b, int64_t) { results.push_back(a + b); });
  return {stored::texts(shape, std::move(results))};
}

std::vector<Tensor> equal(const HostContext& call) {
  std::vector<char> results;
  const Shape shape =
      for_each_pair(call, [&](const std::string& a, const std::string& b, int64_t) { results.push_back(a == b); });
  Tensor same(DType::kBool, shape);
  std::copy(results.begin(), results.end(), same.data<bool>());
  return {same};
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// At runs of white space, none of which is part of the result; as Python's str.split().
std::vector<std::string> split_at_spaces(const std::string& text, int64_t most) {
  std::vector<std::string> parts;
  size_t at = 0;
  for (;;) {
    while (at < text.size() && is_space(text[at])) ++at;
    if (at == text.size()) return parts;
    size_t end = at;
    if (static_cast<int64_t>(parts.size()) == most) {
      end = text.size();
      while (is_space(text[end - 1])) --end;
      parts.push_back(text.substr(at, end - at));
      return parts;
    }
    while (end < text.size() && !is_space(text[end])) ++end;
    parts.push_back(text.substr(at, end - at));
    at = end;
  }
}

std::vector<std::string> split_at(const std::string& text, const std::string& delimiter, int64_t most) {
  std::vector<std::string> parts;
  size_t at = 0;
  while (static_cast<int64_t>(parts.size()) < most) {
    const size_t found = text.find(delimiter, at);
    if (found == std::string::npos) break;
    parts.push_back(text.substr(at, found - at));
    at = found + delimiter.size();
  }
  parts.push_back(text.substr(at));
  return parts;
}

/// The parts of each text, filled up with empty ones, and how many there are.
std::vector<Tensor> split(const HostContext& call) {
  const Tensor& x = call.input(0);
  const std::string delimiter = call.text("delimiter", "");
  const int64_t most = call.integer("maxsplit", std::numeric_limits<int64_t>::max());
  std::vector<std::vector<std::string>> all;
  Tensor counts(DType::kI64, x.shape());
  size_t widest = 0;
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const std::string& text = texts_of(x)[i];
    all.push_back(delimiter.empty() ? split_at_spaces(text, most) : split_at(text, delimiter, most));
    counts.data<int64_t>()[i] = static_cast<int64_t>(all.back().size());
    widest = std::max(widest, all.back().size());
  }
  require_memory(all.size() * widest * sizeof(std::string));
  std::vector<std::string> parts;
  for (std::vector<std::string>& own : all) {
    own.resize(widest);
    parts.insert(parts.end(), own.begin(), own.end());
  }
  std::vector<int64_t> dims = x.shape().dims();
  dims.push_back(static_cast<int64_t>(widest));
  return {stored::texts(Shape(std::move(dims)), std::move(parts)), counts};
}

/// Changes the case of words, and leaves some out: a row of texts.
std::vector<Tensor> normalize(const HostContext& call) {
  const Tensor& x = call.input(0);
  const int rank = x.shape().rank();
  TW_REQUIRE(rank == 1 || (rank == 2 && x.shape()[0] == 1), "texts must have shape [C] or [1, C], not ", x.shape());
  const bool exact = call.flag("is_case_sensitive", false);
  const std::string action = call.text("case_change_action", "NONE");
  TW_REQUIRE(action == "NONE" || action == "LOWER" || action == "UPPER", "unknown case_change_action '", action, "'");
  const auto comparable = [&](const std::string& text) { return exact ? text : lower_case(text); };
  std::vector<std::string> stopwords;
  for (const std::string& word : call.attrs().texts("stopwords")) stopwords.push_back(comparable(word));
  std::vector<std::string> kept;
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const std::string& text = texts_of(x)[i];
    if (std::find(stopwords.begin(), stopwords.end(), comparable(text)) != stopwords.end()) continue;
    kept.push_back(action == "LOWER" ? lower_case(text) : action == "UPPER" ? upper_case(text) : text);
  }
  if (kept.empty()) kept.emplace_back();
  const auto count = static_cast<int64_t>(kept.size());
  return {stored::texts(rank == 1 ? Shape{count} : Shape{1, count}, std::move(kept))};
}

double number_in(const std::string& text) {
  const char* begin = text.data();
  const char* end = begin + text.size();
  while (begin != end && is_space(*begin)) ++begin;
  while (end != begin && is_space(end[-1])) --end;
  if (begin != end && *begin == '+') ++begin;
  double value = 0;
  const auto [stop, problem] = std::from_chars(begin, end, value);
  TW_REQUIRE(problem == std::errc() && stop == end, "'", text, "' is not a number");
  return value;
}

int64_t integer_in(const std::string& text) {
  int64_t value = 0;
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem == std::errc() && stop == text.data() + text.size()) return value;
  return static_cast<int64_t>(number_in(text));
}

/// The shortest text that gives the same number again.
template <typename T>
std::string text_of(T value) {
  char buffer[64];
  const auto [end, problem] = std::to_chars(buffer, buffer + sizeof buffer, value);
  return problem == std::errc() ? std::string(buffer, end) : std::string();
}

Tensor to_texts(const Tensor& x) {
  std::vector<std::string> texts;
  const bool real = is_floating(x.dtype());
  const Tensor wide = x.to(real ? x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32 : DType::kI64);
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    texts.push_back(wide.dtype() == DType::kF32   ? text_of(wide.data<float>()[i])
                    : wide.dtype() == DType::kF64 ? text_of(wide.data<double>()[i])
                                                  : text_of(wide.data<int64_t>()[i]));
  }
  return stored::texts(x.shape(), std::move(texts));
}

Tensor from_texts(const Tensor& x, DType dtype) {
  const bool real = is_floating(dtype) || stored::is_narrow(dtype);
  Tensor wide(real ? DType::kF64 : DType::kI64, x.shape());
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const std::string& text = texts_of(x)[i];
    if (real) {
      wide.data<double>()[i] = number_in(text);
    } else {
      wide.data<int64_t>()[i] = integer_in(text);
    }
  }
  return wide.to(dtype);
}

}  // namespace

namespace text {

Tensor converted(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return dtype == stored::kText ? to_texts(x) : from_texts(x, dtype);
}

}  // namespace text

namespace {

const RegisterHost kConcat("onnx.StringConcat", concat);
const RegisterHost kEqual("onnx.Equal", equal);
const RegisterHost kSplit("onnx.StringSplit", split);
const RegisterHost kNormalize("onnx.StringNormalizer", normalize);

}  // namespace
}  // namespace thalweg
