// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <functional>

#include "thalweg/nn/scope.h"

namespace thalweg::nn {

/// Anything that turns one value into another at a place in a model.
template <typename T>
concept Layer = requires(const T& layer, const Scope& scope, Value* x) {
  { layer.forward(scope, x) } -> std::same_as<Value*>;
};

/// A layer of any kind, with the name it has in its container (its position if it has none).
class Module {
 public:
  template <Layer T>
  requires(!std::same_as<T, Module>) Module(T layer)  // NOLINT: containers are written as lists of layers
      : forward_([layer = std::move(layer)](const Scope& scope, Value* x) { return layer.forward(scope, x); }) {}
  template <Layer T>
  Module(std::string name, T layer) : Module(std::move(layer)) {
    name_ = std::move(name);
  }

  Value* forward(const Scope& scope, Value* x) const { return forward_(scope, x); }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::function<Value*(const Scope&, Value*)> forward_;
};

/// Any function as a layer.
class Lambda {
 public:
  explicit Lambda(std::function<Value*(Value*)> function) : function_(std::move(function)) {}
  Value* forward(const Scope&, Value* x) const { return function_(x); }

 private:
  std::function<Value*(Value*)> function_;
};

struct Identity {
  Value* forward(const Scope&, Value* x) const { return x; }
};

/// Layers one after another, each in the sub-scope of its name or number:
///   Sequential{Conv2d(1, 6, 5, {.padding = 2}), ReLU(), {"head", Linear(10, 3)}}
class Sequential {
 public:
  Sequential() = default;
  Sequential(std::initializer_list<Module> modules) : modules_(modules) {}
  Sequential& add(Module module);
  size_t size() const { return modules_.size(); }
  Value* forward(const Scope& scope, Value* x) const;

 private:
  std::vector<Module> modules_;
};

/// Gives the same input to every branch and joins their results along `axis`.
class Concat {
 public:
  Concat(std::initializer_list<Module> branches, int64_t axis = 1) : branches_(branches), axis_(axis) {}
  Value* forward(const Scope& scope, Value* x) const;

 private:
  std::vector<Module> branches_;
  int64_t axis_;
};

/// Gives the same input to every branch and adds up their results.
class Sum {
 public:
  Sum(std::initializer_list<Module> branches) : branches_(branches) {}
  Value* forward(const Scope& scope, Value* x) const;

 private:
  std::vector<Module> branches_;
};

/// x + body(x); the body's parameters have the path of the residual itself.
class Residual {
 public:
  explicit Residual(Module body) : body_(std::move(body)) {}
  Value* forward(const Scope& scope, Value* x) const;

 private:
  Module body_;
};

/// Applies a layer to every time step of [N, T, ...] at once.
class TimeDistributed {
 public:
  explicit TimeDistributed(Module body) : body_(std::move(body)) {}
  Value* forward(const Scope& scope, Value* x) const;

 private:
  Module body_;
};

}  // namespace thalweg::nn
