// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/text.h"
#include "training.h"

namespace thalweg::python {
namespace {

using data::TextLines;
using data::Vocabulary;

/// What thalweg.data.remote_files gave; null: the path is one of this machine.
using MaybeFiles = std::shared_ptr<data::Files>;

const char* name_of(data::Side side) { return side == data::Side::kFront ? "front" : "back"; }

data::Side side_from(const char* what, const std::string& name) {
  if (name == "front") return data::Side::kFront;
  if (name == "back") return data::Side::kBack;
  raise_input_error(what, " is '", name, "', not front or back");
}

Vocabulary vocabulary_of_file(const std::string& path, int64_t max_tokens, int64_t min_count, const MaybeFiles& files,
                              bool lower_case, bool split_punctuation, bool labels) {
  const data::TextLinesOptions options{{lower_case, split_punctuation}, {}, labels};
  const nb::gil_scoped_release release;
  const auto counts = files ? data::count_tokens(*files, path, options) : data::count_tokens(path, options);
  return Vocabulary::from_counts(counts, {max_tokens, min_count});
}

void init_lines(TextLines* self, const std::string& path, const Vocabulary& vocabulary, int64_t length,
                const MaybeFiles& files, const std::string& pad, const std::string& truncate, bool lower_case,
                bool split_punctuation, bool labels) {
  const data::TextLinesOptions options{
      {lower_case, split_punctuation}, {length, side_from("pad", pad), side_from("truncate", truncate)}, labels};
  const nb::gil_scoped_release release;
  if (files) {
    new (self) TextLines(*files, path, vocabulary, options);
  } else {
    new (self) TextLines(path, vocabulary, options);
  }
}

void bind_vocabulary(nb::module_& m) {
  const data::VocabularyOptions usual;
  const data::TextLinesOptions lines;
  nb::class_<Vocabulary>(m, "Vocabulary", "Tokens and their numbers; 0 is padding, 1 a token that is not in it.")
      .def(nb::init<std::vector<std::string>>(), "tokens"_a, "The tokens get the numbers 2, 3, ... in this order.")
      .def_static("from_file", vocabulary_of_file, "path"_a, "max_tokens"_a = usual.max_tokens,
                  "min_count"_a = usual.min_count, nb::kw_only(), "files"_a.none() = nb::none(),
                  "lower_case"_a = lines.tokenize.lower_case, "split_punctuation"_a = lines.tokenize.split_punctuation,
                  "labels"_a = lines.labels, "Of the lines that TextLines reads with the same options.")
      .def_static("load", &Vocabulary::load, "path"_a)
      .def("save", &Vocabulary::save, "path"_a)
      .def(
          "encode",
          [](const Vocabulary& self, const std::string& text, bool lower_case, bool split_punctuation) {
            return self.encode(text, {lower_case, split_punctuation});
          },
          "text"_a, nb::kw_only(), "lower_case"_a = lines.tokenize.lower_case,
          "split_punctuation"_a = lines.tokenize.split_punctuation)
      .def_prop_ro("tokens", &Vocabulary::tokens, "In the order of their numbers, from 2.")
      .def("__len__", &Vocabulary::size);
}

}  // namespace

void bind_texts(nb::module_& m) {
  bind_vocabulary(m);
  const data::TextLinesOptions usual;
  nb::class_<TextLines, data::Dataset>(m, "TextLines",
                                       R"(Lines of a text file as rows of token numbers, int64 [N, length].

Each line begins with its class and a tab, unless labels=False. Shorter lines are padded and longer ones cut at the
"front" or the "back". `files` is remote_files(...) of an address if the path is one within it.)")
      .def("__init__", init_lines, "path"_a, "vocabulary"_a, "length"_a = usual.shape.length, nb::kw_only(),
           "files"_a.none() = nb::none(), "pad"_a = name_of(usual.shape.pad),
           "truncate"_a = name_of(usual.shape.truncate), "lower_case"_a = usual.tokenize.lower_case,
           "split_punctuation"_a = usual.tokenize.split_punctuation, "labels"_a = usual.labels)
      .def_prop_ro("classes", &TextLines::classes);
}

}  // namespace thalweg::python
