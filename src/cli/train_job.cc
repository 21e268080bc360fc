// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/train_job.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/text.h"
#include "cli/output_paths.h"
#include "thalweg/data/remote_files.h"
#include "thalweg/zoo.h"

namespace thalweg::cli {
namespace {

constexpr int64_t kEverything = std::numeric_limits<int64_t>::max();
/// As comm::Group takes them.
constexpr int64_t kMostStreams = 64;

void read_mnist(job::Settings& file, TrainJob& job) {
  const std::string path = job::expand_home(file.text("data.path"));
  data::Mnist digits = job::about(file, "data.path", [&] { return data::read_mnist(path); });
  job.train = std::make_shared<data::TensorDataset>(digits.train);
  job.validation = std::make_shared<data::TensorDataset>(digits.test);
  job.model_defaults.set("classes", data::kMnistClasses);
}

std::shared_ptr<data::ImageFolder> open_folder(job::Settings& file, const std::string& key,
                                               const data::ImageFolderOptions& options) {
  const std::string path = job::expand_home(file.text(key));
  return job::about(file, key, [&] {
    if (data::is_uri(path)) return std::make_shared<data::ImageFolder>(data::remote_files(path), options);
    return std::make_shared<data::ImageFolder>(path, options);
  });
}

/// Each set of samples numbers its classes by itself: with other classes, a number would mean something else.
void require_same_classes(const job::Settings& file, const std::vector<std::string>& train,
                          const std::vector<std::string>& validation) {
  if (train == validation) return;
  const auto shown = [](const std::vector<std::string>& names) {
    constexpr size_t kShown = 10;
    const std::vector<std::string> first(names.begin(),
                                         names.begin() + static_cast<ptrdiff_t>(std::min(kShown, names.size())));
    return join(first, ", ") + (names.size() > kShown ? ", ..." : "");
  };
  file.reject("data.validation",
              ": its classes (" + shown(validation) + ") are not those of data.path (" + shown(train) + ")");
}

/// The start model's file says already what the keys would say otherwise.
void require_left_out(const job::Settings& file, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    if (file.has(key)) file.reject(key, ": the file of model.file says how its input is made: leave this out");
  }
}

/// Height and width that the first input of a model of pictures fixes; 224 if it leaves them free or there is no file.
int64_t usual_image_size(const job::StartModel& start) {
  constexpr int64_t kUsual = 224;
  if (start.graph == nullptr) return kUsual;
  const Shape& shape = start.graph->inputs().at(0)->shape();
  return shape.rank() == 4 && shape[2] != kFree && shape[2] == shape[3] ? shape[2] : kUsual;
}

/// How the model sees pictures: as the start model's file says, or resized to a square.
data::Pipeline read_preprocessing(job::Settings& file, const TrainJob& job) {
  std::optional<data::Pipeline> known = data::metadata_from(job.start.metadata).preprocessing;
  if (known) {
    require_left_out(file, {"data.image_size"});
    return *known;
  }
  const int64_t size = file.whole("data.image_size", usual_image_size(job.start), 1);
  return data::Pipeline({data::Resize{size, size}});
}

/// The same with random crops and flips.
data::Pipeline augmented(const data::Pipeline& preprocessing) {
  constexpr int64_t kColours = 3;
  const bool channels_last = preprocessing.output().layout == data::ImageLayout::kNhwc;
  const Shape shape = preprocessing.output_type(kColours).shape;
  const int64_t height = shape[channels_last ? 0 : 1], width = shape[channels_last ? 1 : 2];
  return data::Pipeline({data::RandomResizedCrop{height, width}, data::HorizontalFlip{}}, preprocessing.output());
}

void read_images(job::Settings& file, TrainJob& job) {
  data::ImageFolderOptions validation;
  validation.decode.max_pixels = file.whole("data.max_pixels", validation.decode.max_pixels, 1);
  validation.pipeline = read_preprocessing(file, job);
  data::ImageFolderOptions train = validation;
  if (file.flag("data.augment", true)) train.pipeline = augmented(validation.pipeline);
  const auto folder = open_folder(file, "data.path", train);
  job.train = folder;
  job.metadata = {.preprocessing = validation.pipeline, .class_names = folder->classes()};
  job.model_defaults.set("classes", static_cast<int64_t>(folder->classes().size()));
  if (!file.has("data.validation")) return;
  const auto checked = open_folder(file, "data.validation", validation);
  require_same_classes(file, folder->classes(), checked->classes());
  job.validation = checked;
}

/// A file of this machine or at an address, as those who read text take it.
template <typename Read>
auto with_text_file(job::Settings& file, const std::string& key, const Read& read) {
  const std::string path = job::expand_home(file.text(key));
  return job::about(file, key, [&] {
    if (!data::is_uri(path)) return read(path);
    const data::RemoteFile remote = data::remote_file(path);
    return read(*remote.files, remote.path);
  });
}

data::Vocabulary read_vocabulary(job::Settings& file, const data::TextLinesOptions& lines) {
  if (file.has("data.vocabulary")) {
    const std::string path = job::expand_home(file.text("data.vocabulary"));
    return job::about(file, "data.vocabulary", [&] { return data::Vocabulary::load(path); });
  }
  data::VocabularyOptions options;
  options.max_tokens = file.whole("data.max_tokens", options.max_tokens, 0);
  options.min_count = file.whole("data.min_count", options.min_count, 1);
  return with_text_file(file, "data.path", [&](const auto&... where) {
    return data::Vocabulary::from_counts(data::count_tokens(where..., lines), options);
  });
}

data::TextLinesOptions read_line_options(job::Settings& file) {
  const std::vector<std::string> sides = {"front", "back"};
  data::TextLinesOptions lines;
  lines.tokenize.lower_case = file.flag("data.lower_case", lines.tokenize.lower_case);
  lines.tokenize.split_punctuation = file.flag("data.split_punctuation", lines.tokenize.split_punctuation);
  lines.shape.length = file.whole("data.length", lines.shape.length, 1);
  lines.shape.pad = static_cast<data::Side>(file.choice("data.pad", sides, static_cast<size_t>(lines.shape.pad)));
  lines.shape.truncate =
      static_cast<data::Side>(file.choice("data.truncate", sides, static_cast<size_t>(lines.shape.truncate)));
  return lines;
}

/// How the model sees lines of text: as the start model's file says, or as the keys do.
std::pair<data::TextLinesOptions, data::Vocabulary> read_text_preprocessing(job::Settings& file, const TrainJob& job) {
  if (const auto known = data::metadata_from(job.start.metadata).text) {
    require_left_out(file, {"data.vocabulary", "data.max_tokens", "data.min_count", "data.length", "data.pad",
                            "data.truncate", "data.lower_case", "data.split_punctuation"});
    return {{.tokenize = known->tokenize, .shape = known->shape}, known->vocabulary};
  }
  const data::TextLinesOptions options = read_line_options(file);
  return {options, read_vocabulary(file, options)};
}

void read_texts(job::Settings& file, TrainJob& job) {
  const auto [options, vocabulary] = read_text_preprocessing(file, job);
  const auto open = [&](const std::string& key) {
    return with_text_file(file, key, [&](const auto&... where) {
      return std::make_shared<data::TextLines>(where..., vocabulary, options);
    });
  };
  const auto lines = open("data.path");
  job.train = lines;
  job.metadata = data::metadata_of(*lines);
  job.model_defaults.set("vocab", vocabulary.size());
  job.model_defaults.set("classes", static_cast<int64_t>(lines->classes().size()));
  if (!file.has("data.validation")) return;
  const auto checked = open("data.validation");
  require_same_classes(file, lines->classes(), checked->classes());
  job.validation = checked;
}

void read_data(job::Settings& file, TrainJob& job) {
  const std::vector<std::string> kinds = {"mnist", "images", "texts"};
  if (const std::string kind = file.text("data.kind"); std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
    file.reject("data.kind", " is '" + kind + "', must be one of: " + join(kinds, ", ") +
                                 ". Tables are trained on in Python (thalweg.data.Table) or on Spark");
  }
  switch (file.choice("data.kind", kinds, 0)) {
    case 0: read_mnist(file, job); break;
    case 1: read_images(file, job); break;
    default: read_texts(file, job); break;
  }
  const int64_t limit = file.whole("data.limit", kEverything, 1);
  if (limit < job.train->size()) {
    job.train = std::make_shared<data::Subset>(data::Subset::first(job.train, limit));
  }
}

void read_group(job::Settings& file, comm::LaunchedOptions& group) {
  group.path = static_cast<comm::Path>(file.choice("group.transport", {"auto", "tcp", "mpi"}, 0));
  const int64_t streams = file.whole("group.streams", group.streams, 1);
  if (streams > kMostStreams) file.reject("group.streams", " must be at most " + std::to_string(kMostStreams));
  group.streams = static_cast<int>(streams);
  group.timeout = file.seconds("group.timeout", group.timeout);
  const auto form_timeout = file.seconds("group.form_timeout", comm::GroupOptions().form_timeout);
  if (file.has("group.form_timeout")) group.form_timeout = form_timeout;
}

/// Under mpirun the first process writes, and others may run where its folders are not. Of other groups, any worker may
/// come to lead.
bool may_write_output() {
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  return rank == nullptr || std::strcmp(rank, "0") == 0;
}

/// At once, not when hours of training are to be kept.
void require_writable_output(const job::Settings& file, const TrainJob& job) {
  if (!may_write_output()) return;
  const auto require = [&](const char* key, const std::string& path, void (*require_writable)(const std::string&)) {
    if (!path.empty()) job::about(file, key, [&] { require_writable(path); });
  };
  const TrainOptions& options = job.training.options;
  require("output.model", job.model_path, require_writable_file);
  require("output.checkpoints", options.checkpoints.directory, require_writable_folder);
  require("output.tensorboard", options.tensorboard, require_writable_folder);
}

/// Of `model.file`.
job::StartModel model_of_file(job::Settings& file) {
  if (file.has("model.name")) {
    file.reject("model.file", ": model.name is there too: a model is one of the zoo or comes from a file");
  }
  const std::string path = job::expand_home(file.text("model.file"));
  return job::about(file, "model.file", [&] { return job::start_model(path, file); });
}

/// Of `model.name`, with options that follow from the data.
job::StartModel zoo_model(job::Settings& file, const TrainJob& job) {
  const std::string name = file.text("model.name");
  Attributes options = file.other_attributes("model");
  for (const auto& [option, value] : job.model_defaults.items()) {
    if (!options.has(option)) options.set(option, value);
  }
  // A number past the end of the embedding would end the training at the batch that holds it.
  const int64_t tokens = job.model_defaults.integer("vocab");
  if (options.integer("vocab") < tokens) {
    file.reject("model.vocab", " is " + std::to_string(options.integer("vocab")) + ", the vocabulary has " +
                                   std::to_string(tokens) + " numbers with padding and unknown");
  }
  return {job::about(file, "model.name", [&] { return zoo::build(name, options); }), {}};
}

}  // namespace

TrainJob read_job(job::Settings& file) {
  TrainJob job{nullptr, nullptr, {}, job::read_training(file), {}, true, ""};
  job.group.tls = job.training.tls;
  read_group(file, job.group);
  job.resume = file.flag("output.resume", true);
  job.model_path = job::expand_home(file.text("output.model", ""));
  require_writable_output(file, job);
  if (file.has("model.file")) job.start = model_of_file(file);
  read_data(file, job);
  if (job.validation == nullptr) job::check_without_validation(file, job.training, "data.validation");
  if (job.start.graph == nullptr) job.start = zoo_model(file, job);
  Graph& graph = *job.start.graph;
  job::require_classes(graph, job.training, file, job.model_defaults.integer("classes"));
  job::fit_together(graph, job.training, file);
  file.finish();
  return job;
}

}  // namespace thalweg::cli
