// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/nn/activation.h"
#include "thalweg/nn/attention.h"
#include "thalweg/nn/conv.h"
#include "thalweg/nn/dropout.h"
#include "thalweg/nn/init.h"
#include "thalweg/nn/linear.h"
#include "thalweg/nn/module.h"
#include "thalweg/nn/norm.h"
#include "thalweg/nn/pool.h"
#include "thalweg/nn/reshape.h"
#include "thalweg/nn/rnn.h"
#include "thalweg/nn/scope.h"
