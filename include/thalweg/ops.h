// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/ops/activation.h"
#include "thalweg/ops/conv.h"
#include "thalweg/ops/detection.h"
#include "thalweg/ops/elementwise.h"
#include "thalweg/ops/matmul.h"
#include "thalweg/ops/norm.h"
#include "thalweg/ops/quantize.h"
#include "thalweg/ops/reduce.h"
#include "thalweg/ops/rnn.h"
#include "thalweg/ops/shape.h"
#include "thalweg/ops/signal.h"
