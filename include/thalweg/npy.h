// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "thalweg/safetensors.h"
#include "thalweg/tensor.h"

/// The files of NumPy: .npy holds one array, .npz several, in a zip archive. Whatever the bytes are, errors name the
/// file and what is wrong with it, and no more memory is taken than the file justifies.
namespace thalweg::npy {

/// An array whose values lie aligned in row-major order stays in the file, mapped as long as the tensor lives (the file
/// must not be cut short meanwhile); others are copied. Text, objects, complex numbers and records are errors.
Tensor read(const std::string& path);

/// The arrays by their names without ".npy", in the order of the archive; stored or compressed.
std::vector<NamedTensor> read_archive(const std::string& path);

/// Replaces the file in one go. NumPy has no bf16: such values are written as f32.
void write(const std::string& path, const Tensor& tensor);
/// Not compressed; an array must be smaller than 4 GiB.
void write_archive(const std::string& path, const std::vector<NamedTensor>& tensors);

}  // namespace thalweg::npy
