// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/features/columns.h"
#include "data/features/kinds.h"

namespace thalweg::data {
namespace {

/// FNV-1a, with a separator after each part so that "a" "bc" and "ab" "c" differ.
class Hash {
 public:
  void add(const std::string& text) {
    for (const char c : text) mix(static_cast<uint8_t>(c));
    mix(0);
  }
  int64_t bucket(int64_t buckets) const {
    // The low bits alone are not spread well.
    const uint64_t folded = (state_ ^ (state_ >> 32U)) * 0x9E3779B97F4A7C15ULL;
    return static_cast<int64_t>((folded >> 16U) % static_cast<uint64_t>(buckets));
  }

 private:
  void mix(uint8_t byte) { state_ = (state_ ^ byte) * 0x100000001B3ULL; }
  uint64_t state_ = 0xCBF29CE484222325ULL;
};

}  // namespace

void apply(const CrossHash& f, std::vector<Column>& columns) {
  std::vector<Texts> parts;
  for (const std::string& name : f.columns) parts.push_back(texts_of(find_column(columns, name)));
  Integers result;
  for (size_t row = 0; row < parts[0].size(); ++row) {
    Hash hash;
    for (const Texts& part : parts) {
      TW_REQUIRE(part.size() == parts[0].size(), "cross_hash: columns of different length");
      hash.add(part[row]);
    }
    result.push_back(hash.bucket(f.buckets));
  }
  columns.push_back({f.name, std::move(result)});
}

void apply(const HashBucket& f, std::vector<Column>& columns) {
  Column& column = find_column(columns, f.column);
  Integers result;
  for (const std::string& text : texts_of(column)) {
    Hash hash;
    hash.add(text);
    result.push_back(hash.bucket(f.buckets));
  }
  column.values = std::move(result);
}

const char* complaint_of(const HashBucket& f) { return f.buckets > 0 ? nullptr : "buckets must be positive"; }

const char* complaint_of(const CrossHash& f) {
  if (f.columns.empty() || f.name.empty()) return "needs columns, and a name for what becomes of them";
  return f.buckets > 0 ? nullptr : "buckets must be positive";
}

}  // namespace thalweg::data
