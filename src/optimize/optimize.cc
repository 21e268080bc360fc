// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/optimize.h"

#include <algorithm>
#include <array>
#include <optional>
#include <random>

#include "base/cpu.h"
#include "base/text.h"
#include "formats/onnx/upgrade.h"
#include "model/measure.h"
#include "model/model_impl.h"
#include "optimize/int8_search.h"
#include "optimize/narrow_weights.h"
#include "optimize/quantize_dynamic.h"
#include "optimize/simplify_graph.h"

namespace thalweg {
namespace {

constexpr std::array kCalibrations{Calibration::kMinMax, Calibration::kPercentile, Calibration::kEntropy};
constexpr std::array kForms{ModelForm::kF32, ModelForm::kBF16, ModelForm::kF16, ModelForm::kInt8,
                            ModelForm::kInt8Dynamic};

template <typename Kinds>
auto from_name(const Kinds& kinds, const std::string& what, const std::string& name) {
  std::vector<std::string> known;
  for (const auto kind : kinds) {
    if (name == name_of(kind)) return kind;
    known.emplace_back(name_of(kind));
  }
  raise("unknown ", what, " ", printable(name), "; known: ", join(known, ", "));
}

/// Normally distributed, the same each time; zeros for integers, which may be indices.
Tensor random_input(const ValueDescription& input, const Shape& shape) {
  const DType dtype = input.dtype.value_or(DType::kF32);
  Tensor tensor = Tensor::zeros(is_floating(dtype) ? DType::kF32 : dtype, shape);
  if (!is_floating(dtype)) return tensor;
  std::mt19937 generator(7);
  std::normal_distribution<float> normal;
  std::generate_n(tensor.data<float>(), tensor.num_elements(), [&] { return normal(generator); });
  return tensor.to(dtype);
}

std::vector<Tensor> random_batch(const Model& model, const std::vector<Shape>& shapes) {
  TW_REQUIRE(shapes.empty() || shapes.size() == model.inputs().size(), "the model takes ", model.inputs().size(),
             " inputs, but ", shapes.size(), " shapes were given");
  std::vector<Tensor> batch;
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    const ValueDescription& input = model.inputs()[i];
    TW_REQUIRE(!shapes.empty() || input.shape.has_value(), "the model does not say what shape its input ",
               printable(input.name), " has: give one");
    std::vector<int64_t> dims = (shapes.empty() ? *input.shape : shapes[i]).dims();
    std::replace(dims.begin(), dims.end(), kFree, int64_t{1});
    batch.push_back(random_input(input, Shape(std::move(dims))));
  }
  return batch;
}

void time_form(const EditedGraph& model, const OptimizeOptions& options, FormReport& report) {
  InferenceOptions run;
  run.threads = options.threads;
  const std::vector<Tensor>& batch = options.data.front();
  const Measurement measured = measure(model.model(run), batch, {.streams = 1, .seconds = options.seconds});
  report.milliseconds = measured.latency.p50;
  const bool has_batch = !batch.empty() && batch[0].shape().rank() > 0;
  report.samples_per_second = static_cast<double>(has_batch ? batch[0].shape()[0] : 1) * 1000.0 / report.milliseconds;
}

class Optimizer {
 public:
  Optimizer(const std::string& path, OptimizeOptions options)
      : options_(std::move(options)), model_(onnx::import_model(onnx::open_model(path))) {
    TW_REQUIRE(options_.max_drop >= 0.0 && options_.max_drop <= 1.0, "max_drop must be between 0 and 1, got ",
               options_.max_drop);
    has_data_ = !options_.data.empty();
    const Model original = model_.model({});
    if (!has_data_) options_.data = {random_batch(original, options_.shapes)};
    for (const std::vector<Tensor>& batch : options_.data) expected_.push_back(original.predict(batch));
    simplify_graph(model_);
    obstacles_ = model_.upgrade();
    model_.set_metadata("thalweg.precision", "");
    if (options_.forms.empty()) choose_forms();
  }

  OptimizeReport run(const std::string& output) {
    OptimizeReport report;
    std::vector<EditedGraph> models;
    for (const ModelForm form : options_.forms) try_form(form, report, models);
    std::optional<size_t> best;
    for (size_t i = 0; i < report.forms.size(); ++i) {
      const FormReport& form = report.forms[i];
      if (form.accepted && (!best.has_value() || form.milliseconds < report.forms[*best].milliseconds)) best = i;
    }
    if (!best.has_value()) fail(report);
    report.chosen = *best;
    if (!output.empty()) models[*best].save(output);
    return report;
  }

 private:
  void choose_forms() {
    options_.forms = {ModelForm::kF32};
    if (!obstacles_.empty()) return;
    if (cpu_computes_in_bf16()) options_.forms.push_back(ModelForm::kBF16);
    options_.forms.push_back(has_data_ ? ModelForm::kInt8 : ModelForm::kInt8Dynamic);
  }

  void say(const std::string& doing) const {
    if (options_.progress) options_.progress(doing, 0.0);
  }

  void try_form(ModelForm form, OptimizeReport& report, std::vector<EditedGraph>& models) {
    FormReport result;
    result.form = form;
    say(std::string("trying ") + name_of(form));
    EditedGraph model = make_form(form, result);
    result.bytes = model.weight_bytes();
    if (result.quantised_layers > 0 || (form != ModelForm::kInt8 && form != ModelForm::kInt8Dynamic)) {
      time_form(model, options_, result);
      result.accepted = result.agreement.score >= 1.0 - options_.max_drop;
      if (!result.accepted) result.note = "agrees too little";
    } else {
      result.accepted = false;
      result.note = "nothing in it can be quantised";
    }
    report.forms.push_back(std::move(result));
    models.push_back(std::move(model));
  }

  EditedGraph make_form(ModelForm form, FormReport& result) {
    TW_REQUIRE(obstacles_.empty() || form == ModelForm::kF32 || form == ModelForm::kF16, model_.name(), ": ",
               name_of(form), " needs opset ", onnx::kUpgradedOpset, ", the model has ", model_.opset(),
               ", and these nodes cannot be converted; export the model anew:\n  ", join(obstacles_, "\n  "));
    EditedGraph model = model_;
    if (form == ModelForm::kInt8) {
      TW_REQUIRE(has_data_, model_.name(), ": int8 needs data to take ranges from; int8-dynamic does not");
      QuantizedModel found = search_int8(model_, expected_, options_);
      result.agreement = found.agreement;
      result.quantised_layers = found.layers;
      result.kept_layers = std::move(found.kept);
      return std::move(found.model);
    }
    if (form == ModelForm::kInt8Dynamic) result.quantised_layers = quantize_dynamically(model);
    if (form == ModelForm::kF16) narrow_weights(model, DType::kF16);
    if (form == ModelForm::kBF16) {
      narrow_weights(model, DType::kBF16);
      model.set_metadata("thalweg.precision", "bf16");
      if (!cpu_computes_in_bf16()) result.note = "computed in f32: this CPU has no bf16 instructions";
    }
    result.agreement = agreement_of(model, expected_, options_, options_.data.size());
    return model;
  }

  [[noreturn]] void fail(const OptimizeReport& report) const {
    std::vector<std::string> lines;
    for (const FormReport& form : report.forms) {
      lines.push_back(std::string(name_of(form.form)) + ": " + form.note + ", agreement " +
                      std::to_string(form.agreement.score));
    }
    raise(model_.name(), ": no form agrees with f32 to within ", options_.max_drop, ":\n  ", join(lines, "\n  "));
  }

  OptimizeOptions options_;
  EditedGraph model_;
  bool has_data_ = false;
  /// Nodes that keep the model in its old opset.
  std::vector<std::string> obstacles_;
  Answers expected_;
};

}  // namespace

const char* name_of(Calibration method) {
  switch (method) {
    case Calibration::kMinMax: return "minmax";
    case Calibration::kPercentile: return "percentile";
    case Calibration::kEntropy: return "entropy";
  }
  return "unknown";
}

Calibration calibration_from_name(const std::string& name) { return from_name(kCalibrations, "calibration", name); }

const char* name_of(ModelForm form) {
  switch (form) {
    case ModelForm::kF32: return "f32";
    case ModelForm::kBF16: return "bf16";
    case ModelForm::kF16: return "f16";
    case ModelForm::kInt8: return "int8";
    case ModelForm::kInt8Dynamic: return "int8-dynamic";
  }
  return "unknown";
}

ModelForm model_form_from_name(const std::string& name) { return from_name(kForms, "form of a model", name); }

OptimizeReport optimize(const std::string& path, const std::string& output, const OptimizeOptions& options) {
  return Optimizer(path, options).run(output);
}

}  // namespace thalweg
