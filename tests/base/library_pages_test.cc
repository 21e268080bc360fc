// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "base/library_pages.h"

#include <gtest/gtest.h>

#include "thalweg/tensor.h"

namespace thalweg {
namespace {

TEST(LibraryPages, CodeAndConstantsAreThereWhenTheyAreNeededAgain) {
  const Tensor before = Tensor::full<float>({64}, 3.0F);
  release_library_pages(reinterpret_cast<const void*>(&release_library_pages));
  const Tensor after = Tensor::full<float>({64}, 3.0F);
  EXPECT_EQ(before.data<float>()[63], after.data<float>()[63]);
  int here = 0;
  release_library_pages(&here);  // of no library
}

}  // namespace
}  // namespace thalweg
