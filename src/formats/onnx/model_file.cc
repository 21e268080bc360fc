// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/model_file.h"

#include <algorithm>

#include "base/text.h"
#include "formats/onnx/functions.h"
#include "formats/onnx/proto_reader.h"

namespace thalweg::onnx {
namespace {

/// By its first bytes: a protocol buffer has numbers among them that no text has.
bool looks_like_text(std::string_view bytes) {
  constexpr size_t kLooked = 256;
  const std::string_view first = bytes.substr(0, kLooked);
  return !first.empty() && std::all_of(first.begin(), first.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 ? byte != 0x7f : c == '\n' || c == '\r' || c == '\t';
  });
}

ModelProto parse(std::string_view bytes, const std::string& name) {
  try {
    return parse_model(bytes, name);
  } catch (const Error&) {
    TW_REQUIRE(!looks_like_text(bytes), name, ": is text, not an ONNX model");
    throw;
  }
}

void finish(ModelFile& model, std::string_view bytes, const std::filesystem::path& folder) {
  model.proto = parse(bytes, model.name);
  model.reader_ = std::make_shared<TensorReader>(model.file_, folder);
  const int64_t version = model.opset("");
  TW_REQUIRE(version >= kOldestOpset && version <= kNewestOpset, model.name, ": opset ", version, " is not supported; ",
             kOldestOpset, " to ", kNewestOpset, " are");
  TW_REQUIRE(model.proto.graph.sparse_initializer.empty(), model.name, ": the sparse initializer ",
             printable(model.proto.graph.sparse_initializer.empty() ? "" : model.proto.graph.sparse_initializer[0]),
             " is not supported");
  inline_functions(model.proto, model.name);
}

}  // namespace

std::string normal_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

int64_t ModelFile::opset(const std::string& domain) const {
  for (const OperatorSetId& id : proto.opset_import) {
    if (normal_domain(id.domain) == normal_domain(domain)) return id.version;
  }
  // A model all of whose operators come from other domains need not name this one.
  if (normal_domain(domain).empty()) return kNewestOpset;
  raise(name, ": uses operators of the domain ", printable(domain), " without saying of which version");
}

Tensor ModelFile::tensor(const TensorProto& tensor) const { return reader_->read(tensor); }
TensorType ModelFile::type(const TensorProto& tensor) const { return reader_->check(tensor); }
Tensor ModelFile::tensor_once(const TensorProto& tensor) const { return reader_->read_once(tensor); }

std::shared_ptr<const ModelFile> open_model(const std::string& path) {
  auto model = std::make_shared<ModelFile>();
  model->name = path;
  model->file_ = std::make_shared<MappedFile>(path);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  finish(*model, model->file_->text(), folder.empty() ? "." : folder);
  return model;
}

std::shared_ptr<const ModelFile> open_model_bytes(std::string bytes) {
  auto model = std::make_shared<ModelFile>();
  model->name = "model in memory";
  model->bytes_ = std::make_shared<const std::string>(std::move(bytes));
  finish(*model, *model->bytes_, {});
  return model;
}

}  // namespace thalweg::onnx
