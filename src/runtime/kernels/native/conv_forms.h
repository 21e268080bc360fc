// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/kernel.h"
#include "runtime/kernel_trial.h"
#include "runtime/race.h"

namespace thalweg {

/// One way to compute a convolution, or its data gradient, that is worth measuring.
struct ConvForm {
  /// Tells it from the others of the node; stored by the tuner.
  std::string name;
  std::function<std::unique_ptr<Kernel>()> make;
  /// What the rule takes, which depends on shapes alone and measures nothing. At most one of a method's forms.
  bool by_rule = false;
  /// The name of an earlier form that differs only in sizes of blocks and the like; "" for those.
  std::string variant_of = {};
};

/// Winograd's method in several tile and block sizes; none if it cannot or must not be used.
std::vector<ConvForm> winograd_forms(const KernelRequest& request);
/// The product of matrices, cut in several ways.
std::vector<ConvForm> conv_product_forms(const KernelRequest& request);
/// Taps that read from copied rows of a plain image of few channels.
std::vector<ConvForm> conv_rows_forms(const KernelRequest& request);

/// Vectors that go along lines of a plain image, for few output channels.
std::vector<ConvForm> conv_lines_forms(const KernelRequest& request);

/// oneDNN's kernel and all forms, variants behind what they vary. The request must outlive them.
std::vector<ConvForm> all_conv_forms(const KernelRequest& request);
/// True if oneDNN has no direct kernel for the node: it would unfold the image or run plain loops.
bool direct_is_slow(const KernelRequest& request);
/// The name of the form that the rule takes.
std::string conv_by_rule(const std::vector<ConvForm>& forms);
/// What the tuner calls the request: all that the time depends on.
std::string conv_key(const KernelRequest& request);
/// Those of the forms that run, on memory that must outlive them.
std::vector<TuningCandidate> conv_candidates(const KernelRequest& request, const std::vector<ConvForm>& forms,
                                             TrialMemory& memory);

/// The kernel of the form that was measured to be the fastest on this CPU if it is one of `offered`; else null, with
/// the reason. If nobody has measured yet: measures, or takes what the rule says (KernelRequest::unmeasured). Several
/// candidates may ask in turn: the answer is the same.
std::unique_ptr<Kernel> fastest_conv(const KernelRequest& request, const std::vector<ConvForm>& offered,
                                     std::string& declined);

}  // namespace thalweg
