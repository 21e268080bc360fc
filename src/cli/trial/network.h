// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace thalweg::cli {

/// "100mbit" in bits a second. Throws UsageError unless it is a number and one of kbit, mbit and gbit.
double bits_per_second(const std::string& rate);

/// Why this process cannot make networks; empty if it can.
std::string why_no_networks();

/// A network of this machine's own with a cable of a known rate, in both directions, to each of several workers. It has
/// no name anywhere, so that the system takes it away when nobody is in it any more, however this program ends.
class ShapedNetwork {
 public:
  /// The thread that makes it is in the middle from then on, and so are all that it starts. Throws Error if it cannot
  /// be made.
  ShapedNetwork(int workers, double bits_per_second);
  ~ShapedNetwork();
  ShapedNetwork(const ShapedNetwork&) = delete;
  ShapedNetwork& operator=(const ShapedNetwork&) = delete;

  /// By worker: what setns opens, in any process of this user while this object lives.
  std::vector<std::string> ends() const;
  /// By which those at the ends reach whoever is in the middle.
  static std::string address();

 private:
  void add_end(int worker);
  void enter(int space) const;

  double bits_per_second_;
  /// Where this thread was before, the middle, and the ends.
  int before_ = -1;
  int middle_ = -1;
  std::vector<int> ends_;
};

}  // namespace thalweg::cli
