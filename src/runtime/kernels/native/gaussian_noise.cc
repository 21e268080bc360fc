// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "ops/ids.h"
#include "runtime/kernels/native/plain_kernel.h"
#include "runtime/kernels/native/ranges.h"
#include "runtime/kernels/random_mask.h"

namespace thalweg {
namespace {

/// Logarithm and cosine cost far more than memory: sharing them out among the threads is what counts.
std::unique_ptr<Kernel> make_gaussian_noise(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (declines_plain(node, node.output()->dtype(), declined)) return nullptr;
  const double deviation = node.attrs().real("deviation");
  const int64_t seed = node.attrs().integer("seed"), count = node.output()->shape().num_elements();
  const DType dtype = node.output()->dtype();
  auto kernel = plain_kernel(node, [=](const KernelArguments& arguments) {
    const RandomBits bits(seed, arguments.step);
    dispatch_real(dtype, [&](auto tag) {
      using T = decltype(tag);
      const auto* x = static_cast<const T*>(arguments.inputs[0]);
      auto* y = static_cast<T*>(arguments.outputs[0]);
      in_ranges(count, count, arguments.threads, [&](int64_t, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          y[i] = static_cast<T>(x[i] + deviation * bits.normal_at(static_cast<uint64_t>(i)));
      });
    });
  });
  kernel->in_place = {{0, 0}};
  return kernel;
}

const RegisterKernel kGaussianNoise(op::kGaussianNoise, "native", KernelPriority::kNative, make_gaussian_noise);

}  // namespace
}  // namespace thalweg
