// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include "cli/command.h"
#include "cli/output_paths.h"
#include "cli/source_kind.h"
#include "thalweg/caffe.h"
#include "thalweg/model.h"

namespace thalweg::cli {
namespace {

std::string text_of(const Json& report) {
  std::ostringstream out;
  out << report["model"].get<std::string>() << " written to " << report["written"].get<std::string>() << ": "
      << report["parameters"].get<int64_t>() << " parameters\n";
  for (const char* key : {"inputs", "outputs"}) {
    for (const Json& value : report[key]) {
      out << "  " << (key[0] == 'i' ? "takes " : "gives ") << value.get<std::string>() << '\n';
    }
  }
  return out.str();
}

Json values_json(const std::vector<ValueDescription>& values) {
  Json result = Json::array();
  for (const ValueDescription& value : values) result.push_back(to_string(value));
  return result;
}

class Convert : public Command {
 public:
  CommandDescription describe() const override {
    return {"convert", "Writes a Caffe network, or an ONNX model as it is understood here, as an ONNX file",
            "thalweg convert net.prototxt net.caffemodel -o net.onnx"};
  }

  void add_options(CLI::App& options) override {
    options.add_option("MODEL", model_, "Caffe network (.prototxt) or ONNX file")->required();
    options.add_option("WEIGHTS", weights_,
                       "Caffe weights (.caffemodel; default: the file beside the network of its name)");
    options.add_option("-o,--out", output_, "The ONNX file to write")->required();
  }

  int run() override {
    const bool caffe = caffe::is_network_file(model_);
    if (ending_of(model_) == ".pt2") {
      wrong_usage(printable(model_), " is an export of PyTorch's, which only PyTorch itself reads: in Python, ",
                  "thalweg.from_torch(torch.export.load(...).module(), example) takes it, and save writes ONNX");
    }
    if (!caffe && !weights_.empty()) wrong_usage("only a Caffe network has its weights in a file of its own");
    require_writable_file(output_);
    const Model model = caffe && !weights_.empty() ? Model::load_caffe(model_, weights_) : Model::load(model_);
    model.save(output_);
    print({{"model", model_},
           {"written", output_},
           {"parameters", model.summary().parameters},
           {"inputs", values_json(model.inputs())},
           {"outputs", values_json(model.outputs())}},
          text_of);
    return kDone;
  }

 private:
  std::string model_, weights_, output_;
};

const RegisterCommand kConvert([] { return std::make_unique<Convert>(); });

}  // namespace
}  // namespace thalweg::cli
