// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/prediction_writer.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/atomic_file.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/numbers.h"
#include "cli/text_table.h"
#include "model/classification.h"
#include "thalweg/npy.h"
#include "thalweg/predictor.h"

namespace thalweg::cli {
namespace {

/// Over all elements of the first output of one sample.
Tensor probabilities(const Tensor& values, const std::string& made_by) {
  const int64_t count = values.num_elements();
  if (count == 0) return values.to(DType::kF32);
  const Tensor found = classify(values.reshaped({1, count}), made_by).probabilities;
  return found.reshaped(found.num_elements() == count ? values.shape() : Shape{found.num_elements()});
}

/// With probabilities in place of the first output where they are wanted.
Prediction as_written(const Prediction& prediction, const PredictionFormat& format) {
  Prediction result = prediction;
  Tensor& first = result.outputs[0];
  if (format.softmax) first = probabilities(first, format.made_by);
  return result;
}

/// Lines of text to a file or stdout.
class LineWriter : public PredictionWriter {
 public:
  explicit LineWriter(const PredictionFormat& format) : format_(format) {
    if (!format.path.empty()) file_.emplace(format.path);
  }
  void write(const Prediction& prediction) override {
    const Prediction written = as_written(prediction, format_);
    if (!begun_) begin(written);
    begun_ = true;
    add(written);
  }
  void flush() override {
    if (file_.has_value()) {
      file_->write(text_.data(), text_.size());
    } else {
      write_stdout(text_);
    }
    text_.clear();
  }
  void finish() override {
    flush();
    if (file_.has_value()) file_->commit();
  }

 protected:
  virtual void begin(const Prediction& /*first*/) {}
  virtual void add(const Prediction& prediction) = 0;

  std::string class_name(int64_t index) const {
    const auto i = static_cast<size_t>(index);
    return i < format_.class_names.size() ? format_.class_names[i] : std::to_string(index);
  }
  const PredictionFormat& format() const { return format_; }
  std::string& text() { return text_; }

 private:
  const PredictionFormat format_;
  std::optional<AtomicFile> file_;
  std::string text_;
  bool begun_ = false;
};

/// "cat.jpg: tabby 0.81, tiger 0.12" for people.
class TextWriter : public LineWriter {
  using LineWriter::LineWriter;
  void add(const Prediction& prediction) override {
    text() += prediction.sample + ":";
    if (format().top > 0) {
      const char* separator = " ";
      for (const RankedClass& one : largest(prediction.outputs[0], format().top)) {
        text() += separator + class_name(one.index) + cli::format(" %.4f", one.score);
        separator = ", ";
      }
    } else {
      for (size_t i = 0; i < prediction.outputs.size(); ++i) {
        text() += " " + format().output_names[i] + " = ";
        append_json(text(), prediction.outputs[i]);
      }
    }
    text() += '\n';
  }
};

class JsonLinesWriter : public LineWriter {
  using LineWriter::LineWriter;
  void add(const Prediction& prediction) override {
    const auto quoted = [](const std::string& name) {
      return Json(name).dump(-1, ' ', false, Json::error_handler_t::replace);
    };
    text() += "{\"sample\":" + quoted(prediction.sample);
    if (format().top > 0) {
      Json top = Json::array();
      for (const RankedClass& one : largest(prediction.outputs[0], format().top)) {
        top.push_back({{"index", one.index}, {"class", class_name(one.index)}, {"score", one.score}});
      }
      text() += ",\"top\":" + top.dump(-1, ' ', false, Json::error_handler_t::replace);
    } else {
      text() += ",\"outputs\":{";
      for (size_t i = 0; i < prediction.outputs.size(); ++i) {
        text() += (i > 0 ? "," : "") + quoted(format().output_names[i]) + ":";
        append_json(text(), prediction.outputs[i]);
      }
      text() += '}';
    }
    text() += "}\n";
  }
};

class CsvWriter : public LineWriter {
  using LineWriter::LineWriter;

  static std::string cell(const std::string& content) {
    if (content.find_first_of(",\"\r\n") == std::string::npos) return content;
    std::string quoted = "\"";
    for (const char c : content) quoted += c == '"' ? "\"\"" : std::string(1, c);
    return quoted + "\"";
  }

  void begin(const Prediction& first) override {
    text() += "sample";
    for (int64_t i = 1; i <= std::min(format().top, first.outputs[0].num_elements()); ++i) {
      text() += ",class_" + std::to_string(i) + ",score_" + std::to_string(i);
    }
    for (size_t i = 0; format().top == 0 && i < first.outputs.size(); ++i) {
      columns_.push_back(first.outputs[i].num_elements());
      for (int64_t j = 0; j < columns_.back(); ++j) {
        const bool named = i == 0 && static_cast<size_t>(columns_[0]) == format().class_names.size();
        const std::string number = columns_.back() > 1 ? "_" + std::to_string(j) : "";
        text() += "," + cell(named ? class_name(j) : format().output_names[i] + number);
      }
    }
    text() += '\n';
  }

  void add(const Prediction& prediction) override {
    text() += cell(prediction.sample);
    if (format().top > 0) {
      for (const RankedClass& one : largest(prediction.outputs[0], format().top)) {
        text() += "," + cell(class_name(one.index)) + "," + cli::format("%.7g", one.score);
      }
    }
    for (size_t i = 0; format().top == 0 && i < prediction.outputs.size(); ++i) {
      TW_REQUIRE(prediction.outputs[i].num_elements() == columns_[i], "sample ", prediction.sample, ": output ",
                 printable(format().output_names[i]), " has another size than before; write JSON lines instead");
      for (int64_t j = 0; j < columns_[i]; ++j) {
        text() += ',';
        append_element(text(), prediction.outputs[i], j);
      }
    }
    text() += '\n';
  }

  std::vector<int64_t> columns_;
};

/// Gathers each output of all samples in one array.
class ArrayWriter : public PredictionWriter {
 public:
  explicit ArrayWriter(const PredictionFormat& format) : format_(format) {}

  void write(const Prediction& prediction) override {
    const Prediction written = as_written(prediction, format_);
    if (arrays_.empty()) {
      for (const Tensor& output : written.outputs) allocate(output);
    }
    for (size_t i = 0; i < arrays_.size(); ++i) {
      const Tensor& row = written.outputs[i];
      const Tensor target = arrays_[i].rows(written_, written_ + 1);
      TW_REQUIRE(row.dtype() == target.dtype() && row.num_bytes() == target.num_bytes(), "sample ", prediction.sample,
                 ": output ", printable(format_.output_names[i]), " is ", row.type(), ", unlike those before");
      std::memcpy(target.raw(), row.raw(), row.num_bytes());
    }
    ++written_;
  }

  void finish() override {
    // Fewer than were promised if some could not be read.
    for (Tensor& array : arrays_) array = array.rows(0, written_);
    if (format_.kind == PredictionFormat::Kind::kNpy) {
      npy::write(format_.path, arrays_.at(0));
      return;
    }
    std::vector<NamedTensor> named;
    for (size_t i = 0; i < arrays_.size(); ++i) named.push_back({format_.output_names[i], arrays_[i]});
    npy::write_archive(format_.path, named);
  }

 private:
  void allocate(const Tensor& row) {
    std::vector<int64_t> dims = row.shape().dims();
    dims.insert(dims.begin(), format_.samples);
    arrays_.emplace_back(row.dtype(), Shape(dims));
  }

  const PredictionFormat format_;
  std::vector<Tensor> arrays_;
  int64_t written_ = 0;
};

}  // namespace

std::unique_ptr<PredictionWriter> make_prediction_writer(const PredictionFormat& format) {
  switch (format.kind) {
    case PredictionFormat::Kind::kText: return std::make_unique<TextWriter>(format);
    case PredictionFormat::Kind::kCsv: return std::make_unique<CsvWriter>(format);
    case PredictionFormat::Kind::kJsonLines: return std::make_unique<JsonLinesWriter>(format);
    case PredictionFormat::Kind::kNpy:
    case PredictionFormat::Kind::kNpz: return std::make_unique<ArrayWriter>(format);
  }
  raise("no such form of predictions");
}

}  // namespace thalweg::cli
