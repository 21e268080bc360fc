// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "bindings.h"
#include "thalweg/input_error.h"
#include "thalweg/warning.h"

namespace thalweg::python {
namespace {

/// Handlers are asked latest first, so the more particular error is registered last.
void bind_exceptions(nb::module_& module) {
  auto error = nb::exception<Error>(module, "Error", PyExc_RuntimeError);
  error.attr("__doc__") =
      "A failure that Thalweg reports; the text names what failed and, where there is one, the remedy.";
  const nb::tuple bases = nb::make_tuple(error, nb::borrow(PyExc_ValueError));
  auto input_error = nb::exception<InputError>(module, "InputError", bases);
  input_error.attr("__doc__") = "Data that do not fit the model: their element type, shape, length or content.";
}

/// For what a function of ours takes as any object, and then finds to be of no use.
void translate_bad_cast(const std::exception_ptr& failure, void* /*unused*/) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::bad_cast&) {
    PyErr_SetString(PyExc_TypeError, "an argument, or what a function given as one returned, is of the wrong type");
  }
}

/// The engine's warnings become Python's; threads of the engine do not hold the interpreter.
void warn(const std::string& text) {
  const nb::gil_scoped_acquire gil;
  // Where warnings are errors the exception has nobody to go to: the engine's thread is not Python's.
  if (PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 1) != 0) PyErr_WriteUnraisable(nullptr);
}

}  // namespace

void bind_errors(nb::module_& module) {
  nb::register_exception_translator(translate_bad_cast);
  bind_exceptions(module);
  set_warning_handler(warn);
}

}  // namespace thalweg::python
