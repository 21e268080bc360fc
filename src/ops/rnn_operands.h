// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

// The operands of lstm, gru and rnn and of their gradients, by position, for rules and kernels.

namespace thalweg {

enum class RnnKind { kLstm, kGru, kPlain };
/// Of an op's name, gradients included.
RnnKind rnn_kind(const std::string& op);
int64_t gates_of(RnnKind kind);

struct RnnInput {
  enum : int { kX, kWInput, kWHidden, kBInput, kBHidden, kH0, kC0, kCount };
};

/// y [N, T, H], the last h [N, H], then what backward needs: the gates after their functions [N, T, G*H], and for LSTM
/// the cells, for GRU the hidden part of n before it meets r [N, T, H]; LSTM's last cell [N, H].
struct RnnOutput {
  enum : int { kY, kHN, kGates, kExtra, kCN };
};

struct RnnGradInput {
  enum : int { kX, kWInput, kWHidden, kH0, kC0, kY, kGates, kExtra, kDy, kDhN, kDcN, kCount };
};

struct RnnGradOutput {
  enum : int { kDx, kDwInput, kDwHidden, kDbInput, kDbHidden, kDh0, kDc0 };
};

}  // namespace thalweg
