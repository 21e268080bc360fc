// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Matrix products.
#include <algorithm>
#include <map>

#include "formats/onnx/import_common.h"
#include "ops/ids.h"
#include "thalweg/ops.h"

namespace thalweg::onnx {
namespace {

/// numpy.matmul: a vector counts as a row on the left and as a column on the right, and that dimension goes again.
Value* product(Value* a, Value* b, const std::string& name) {
  const bool row = a->shape().rank() == 1, column = b->shape().rank() == 1;
  if (row) a = ops::unsqueeze(a, {0});
  if (column) b = ops::unsqueeze(b, {1});
  Value* y = ops::matmul(a, b, false, false, name);
  if (column) y = ops::squeeze(y, {-1});
  if (row) y = ops::squeeze(y, {column ? -1 : -2});
  return y;
}

Value* matmul(const NodeContext& context) { return product(context.input(0), context.input(1), context.name()); }

Value* gemm(const NodeContext& context) {
  Value* a = context.input(0);
  Value* b = context.input(1);
  Value* c = context.optional(2);
  context.require(a->shape().rank() == 2 && b->shape().rank() == 2, "both sides must be matrices");
  const double alpha = context.real("alpha", 1.0), beta = context.real("beta", 1.0);
  const bool transpose_a = context.flag("transA", false), transpose_b = context.flag("transB", false);
  const bool is_linear = !transpose_a && transpose_b && alpha == 1.0 && beta == 1.0 && is_floating(a->dtype());
  const bool has_bias = c != nullptr && c->shape() == Shape{b->shape()[0]};
  if (is_linear && (c == nullptr || has_bias)) return ops::linear(a, b, c, "", context.name());
  Value* y = ops::matmul(a, b, transpose_a, transpose_b, context.name());
  if (alpha != 1.0) y = ops::mul(y, alpha);
  if (c == nullptr || beta == 0.0) return y;
  return ops::add(y, beta == 1.0 ? c : ops::mul(c, beta));
}

/// One operand of an einsum: a value and the letter of each of its dimensions.
struct Term {
  Value* value;
  std::string letters;
};

/// Repeated letters (a diagonal) become one: the positions where both indices agree are gathered.
Term without_repeats(const NodeContext& context, Term term) {
  for (size_t i = 0; i < term.letters.size(); ++i) {
    const size_t j = term.letters.find(term.letters[i], i + 1);
    if (j == std::string::npos) continue;
    const Shape shape = static_shape(context, term.value);
    const int64_t size = shape[static_cast<int>(i)];
    std::vector<int64_t> row(term.letters.size(), 1), column(term.letters.size(), 1);
    row[i] = size;
    column[j] = size;
    Value* on_diagonal =
        ops::equal(ops::reshape(positions_of(context, size), row), ops::reshape(positions_of(context, size), column));
    Value* kept = ops::where(on_diagonal, term.value, zero_like(term.value));
    term = {ops::reduce_sum(kept, {static_cast<int64_t>(j)}, false), term.letters};
    term.letters.erase(j, 1);
    return without_repeats(context, term);
  }
  return term;
}

/// Sums over the letters that nobody needs any more.
Term summed(Term term, const std::string& needed) {
  std::vector<int64_t> axes;
  std::string left;
  for (size_t i = 0; i < term.letters.size(); ++i) {
    if (needed.find(term.letters[i]) == std::string::npos) {
      axes.push_back(static_cast<int64_t>(i));
    } else {
      left += term.letters[i];
    }
  }
  return axes.empty() ? term : Term{ops::reduce_sum(term.value, axes, false), left};
}

/// The term with its dimensions in the order of `letters`, and size 1 where it has none of that letter.
Value* arranged(const Term& term, const std::string& letters) {
  std::vector<int64_t> order, missing;
  for (size_t i = 0; i < letters.size(); ++i) {
    const size_t at = term.letters.find(letters[i]);
    if (at == std::string::npos) {
      missing.push_back(static_cast<int64_t>(i));
    } else {
      order.push_back(static_cast<int64_t>(at));
    }
  }
  Value* value = order.size() > 1 ? ops::transpose(term.value, order) : term.value;
  return missing.empty() ? value : ops::unsqueeze(value, missing);
}

/// Letters present in both (batch), in one side only and needed, and in both but not needed (contracted).
Term contract(const Term& a, const Term& b, const std::string& needed) {
  const auto has = [](const std::string& text, char letter) { return text.find(letter) != std::string::npos; };
  std::string batch, left, right, inner;
  for (const char letter : a.letters) (has(b.letters, letter) ? (has(needed, letter) ? batch : inner) : left) += letter;
  for (const char letter : b.letters) {
    if (!has(a.letters, letter)) right += letter;
  }
  if (inner.empty()) {
    const std::string all = batch + left + right;
    return {ops::mul(arranged(a, all), arranged(b, all)), all};
  }
  const auto dims = [](const Term& term, const std::string& letters) {
    std::vector<int64_t> sizes;
    for (const char letter : letters) sizes.push_back(term.value->shape()[static_cast<int>(term.letters.find(letter))]);
    return sizes;
  };
  const auto count = [](const std::vector<int64_t>& sizes) { return Shape(sizes).num_elements(); };
  std::vector<int64_t> shape = dims(a, batch);
  const auto matrix = [&](const Term& term, const std::string& rows, const std::string& columns) {
    std::vector<int64_t> flat = dims(term, batch);
    flat.push_back(count(dims(term, rows)));
    flat.push_back(count(dims(term, columns)));
    return ops::reshape(arranged(term, batch + rows + columns), flat);
  };
  Value* y = ops::matmul(matrix(a, left, inner), matrix(b, inner, right));
  for (const int64_t size : dims(a, left)) shape.push_back(size);
  for (const int64_t size : dims(b, right)) shape.push_back(size);
  return {ops::reshape(y, shape), batch + left + right};
}

/// Puts a letter of its own for every dimension that "..." stands for. They count from the last one, so that
/// broadcasting lines them up.
std::string without_dots(const NodeContext& context, std::string letters, int rank) {
  const size_t dots = letters.find("...");
  if (dots == std::string::npos) return letters;
  const auto count = rank - static_cast<int>(letters.size() - 3);
  context.require(count >= 0 && count <= 10, "the equation does not fit an input of ", rank, " dimensions");
  std::string digits;
  for (int i = count; i-- > 0;) digits += static_cast<char>('0' + i);
  return letters.replace(dots, 3, digits);
}

struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

/// Without an arrow the result has the letters that occur once, in alphabetical order, after those of "...".
Equation parse_equation(const NodeContext& context) {
  std::string text = context.text("equation", "");
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow);
  Equation equation;
  for (size_t at = 0; at <= left.size();) {
    const size_t comma = std::min(left.find(',', at), left.size());
    equation.operands.push_back(left.substr(at, comma - at));
    at = comma + 1;
  }
  context.require(equation.operands.size() == context.num_inputs(), "the equation '", text, "' has ",
                  equation.operands.size(), " operands for ", context.num_inputs(), " inputs");
  std::string widest;
  std::map<char, int> seen;
  for (size_t i = 0; i < equation.operands.size(); ++i) {
    std::string& letters = equation.operands[i];
    letters = without_dots(context, letters, context.input(i)->shape().rank());
    context.require(letters.size() == static_cast<size_t>(context.input(i)->shape().rank()), "'", letters,
                    "' does not fit input ", i, " of shape ", context.input(i)->shape());
    std::string digits;
    for (const char letter : letters) {
      if (letter >= '0' && letter <= '9') {
        digits += letter;
      } else {
        ++seen[letter];
      }
    }
    if (digits.size() > widest.size()) widest = digits;
  }
  if (arrow != std::string::npos) {
    equation.result = text.substr(arrow + 2);
    const size_t dots = equation.result.find("...");
    if (dots != std::string::npos) equation.result.replace(dots, 3, widest);
    return equation;
  }
  equation.result = widest;
  for (const auto& [letter, times] : seen) {
    if (times == 1) equation.result += letter;
  }
  return equation;
}

Value* einsum(const NodeContext& context) {
  const Equation equation = parse_equation(context);
  std::vector<Term> terms;
  for (size_t i = 0; i < equation.operands.size(); ++i) {
    static_shape(context, context.input(i));
    terms.push_back(without_repeats(context, {context.input(i), equation.operands[i]}));
  }
  Term result = terms[0];
  for (size_t i = 0; i < terms.size(); ++i) {
    std::string needed = equation.result;
    for (size_t j = i + 1; j < terms.size(); ++j) needed += terms[j].letters;
    if (i == 0) {
      result = summed(result, needed);
    } else {
      result = contract(result, summed(terms[i], needed + result.letters), needed);
      result = summed(result, needed);
    }
  }
  for (const char letter : equation.result) {
    context.require(result.letters.find(letter) != std::string::npos, "'", letter, "' is in the result only");
  }
  return arranged(result, equation.result);
}

const RegisterConverters kConverters({
    {"MatMul", single(matmul), op::kMatmul},
    {"Gemm", single(gemm), op::kLinear},
    {"Einsum", single(einsum)},
});

}  // namespace
}  // namespace thalweg::onnx
