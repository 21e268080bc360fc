// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "base/text.h"
#include "cli/command.h"
#include "cli/source_kind.h"
#include "cli/text_table.h"
#include "thalweg/data/annotations.h"
#include "thalweg/data/remote_files.h"
#include "thalweg/vision/coco.h"
#include "thalweg/vision/voc.h"

namespace thalweg::cli {
namespace {

using vision::Detection;

Json number_or_null(double value) { return value < 0 ? Json(nullptr) : Json(value); }

std::string cell_of(const Json& value) { return value.is_null() ? "-" : format("%.4f", value); }

bool has_mask(const Detection& detection) { return !std::holds_alternative<std::monostate>(detection.segmentation); }

std::string table_of(const Json& measures) {
  std::vector<std::string> headers = {""};
  for (const char* name : vision::coco_score_names()) headers.emplace_back(name);
  TextTable table(headers);
  bool is_empty = true;
  for (const Json& measure : measures) {
    if (!measure.contains("AP")) continue;
    std::vector<std::string> cells = {measure["name"]};
    for (const char* name : vision::coco_score_names()) cells.push_back(cell_of(measure[name]));
    table.add_row(cells);
    is_empty = false;
  }
  return is_empty ? "" : table.to_string();
}

std::string text_of(const Json& report) {
  std::ostringstream out;
  out << report["data"].get<std::string>() << ": " << report["pictures"] << " pictures, " << report["objects"]
      << " objects, " << report["categories"] << " categories; " << report["detections"] << " detections\n";
  for (const Json& note : report["notes"]) out << note.get<std::string>() << '\n';
  out << table_of(report["measures"]);
  for (const Json& measure : report["measures"]) {
    if (measure.contains("mAP"))
      out << measure["name"].get<std::string>() << " mAP " << cell_of(measure["mAP"]) << '\n';
  }
  for (const Json& measure : report["measures"]) {
    if (!measure.contains("by_category")) continue;
    const bool has_ap50 = measure.contains("AP");
    TextTable table(has_ap50 ? std::vector<std::string>{measure["name"], "AP", "AP50"}
                             : std::vector<std::string>{measure["name"], "AP"});
    for (const Json& one : measure["by_category"]) {
      std::vector<std::string> cells = {one["name"], cell_of(one["AP"])};
      if (has_ap50) cells.push_back(cell_of(one["AP50"]));
      table.add_row(cells);
    }
    out << table.to_string();
  }
  return out.str();
}

class Evaluate : public Command {
 public:
  CommandDescription describe() const override {
    return {"evaluate", "How good detections are, by the rules of COCO and VOC",
            "thalweg evaluate instances_val2017.json --detections results.json\n  thalweg evaluate VOC2007/ --list "
            "ImageSets/Main/test.txt --detections results.json --measures voc07"};
  }

  void add_options(CLI::App& options) override {
    options.add_option("DATA", data_, "Instances file as of COCO (.json), or a folder as of VOC; also at a URI")
        ->required();
    options.add_option("--detections", detections_, "Results file as of COCO (.json); also at a URI")->required();
    options
        .add_option("--measures", measures_,
                    "Of box, mask, boundary (COCO's 12 numbers), voc, voc07 (mean average precision, the latter at 11 "
                    "points); default: box, and mask where detections have masks")
        ->delimiter(',')
        ->check(CLI::IsMember({"box", "mask", "boundary", "voc", "voc07"}));
    options.add_option("--dilation-ratios", ratios_, "Widths of boundaries as shares of the picture's diagonal")
        ->delimiter(',')
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    options.add_option("--list", list_, "Of a VOC folder: the file in it that lists the pictures");
    options.add_flag("--by-category", by_category_, "Show each category too");
    options.add_flag("--strict", strict_, "Fail at the first annotation that has something wrong");
    options.add_option("--threads", threads_, "Threads (default: what the machine allows)")->check(CLI::Range(1, 1024));
  }

  int run() override {
    const data::ReadAnnotations read = read_annotations();
    const std::vector<Detection> found = read_detections();
    for (const vision::Category& one : read.annotations.categories) names_[one.id] = one.name;
    if (measures_.empty()) {
      measures_ = {"box"};
      if (std::any_of(found.begin(), found.end(), has_mask)) measures_.emplace_back("mask");
    }
    Json report = {{"data", data_},
                   {"pictures", read.annotations.pictures.size()},
                   {"objects", read.annotations.objects.size()},
                   {"categories", read.annotations.categories.size()},
                   {"detections", found.size()},
                   {"problems", read.problems.kinds},
                   {"notes", Json::array()},
                   {"measures", Json::array()}};
    if (read.problems.count() > 0) report["notes"].push_back("annotations: " + to_string(read.problems));
    for (const std::string& name : measures_) add_measure(name, read.annotations, found, report);
    print(report, text_of);
    return kDone;
  }

 private:
  bool is_voc() const { return ending_of(data_) != ".json"; }

  data::ReadAnnotations read_annotations() const {
    const data::VocFolderOptions voc{strict_, list_};
    if (!is_voc() && !list_.empty())
      wrong_usage("--list is for folders as of VOC, and ", printable(data_), " is a file");
    if (data::is_uri(data_)) {
      if (is_voc()) return data::read_voc(*data::remote_files(data_), voc);
      const data::RemoteFile file = data::remote_file(data_);
      return data::read_coco(*file.files, file.path, {strict_});
    }
    return is_voc() ? data::read_voc(data_, voc) : data::read_coco(data_, {strict_});
  }

  std::vector<Detection> read_detections() const {
    if (!data::is_uri(detections_)) return data::read_coco_results(detections_);
    const data::RemoteFile file = data::remote_file(detections_);
    return data::read_coco_results(*file.files, file.path);
  }

  void add_measure(const std::string& name, const vision::Annotations& annotations, const std::vector<Detection>& found,
                   Json& report) const {
    if (name == "voc" || name == "voc07") {
      const auto area = name == "voc" ? vision::VocArea::kWhole : vision::VocArea::kElevenPoints;
      report["measures"].push_back(json_of(name, evaluate_voc(annotations, found, {.area = area})));
    } else if (name == "boundary") {
      for (const double ratio : ratios_) {
        const vision::CocoOptions options{vision::OverlapKind::kBoundary, ratio, threads_};
        add_coco("boundary " + format("%g", ratio), evaluate_coco(annotations, found, options), report);
        report["measures"].back()["dilation_ratio"] = ratio;
      }
    } else {
      const auto kind = name == "box" ? vision::OverlapKind::kBox : vision::OverlapKind::kMask;
      add_coco(name, evaluate_coco(annotations, found, {.kind = kind, .threads = threads_}), report);
    }
  }

  void add_coco(const std::string& name, const vision::CocoScores& scores, Json& report) const {
    Json measure = {{"name", name}};
    for (size_t i = 0; i < scores.values.size(); ++i) {
      measure[vision::coco_score_names()[i]] = number_or_null(scores.values[i]);
    }
    for (const vision::CategoryScores& one : scores.categories) {
      if (!by_category_) break;
      measure["by_category"].push_back({{"id", one.category},
                                        {"name", names_.at(one.category)},
                                        {"AP", number_or_null(one.ap)},
                                        {"AP50", number_or_null(one.ap50)}});
    }
    report["measures"].push_back(std::move(measure));
    if (scores.unknown_category > 0) {
      report["notes"].push_back(name + ": " + std::to_string(scores.unknown_category) +
                                " detections of unknown categories do not count");
    }
    if (scores.without_mask > 0) {
      report["notes"].push_back(name + ": " + std::to_string(scores.without_mask) +
                                " objects without a mask do not count");
    }
  }

  Json json_of(const std::string& name, const vision::VocScores& scores) const {
    Json measure = {{"name", name}, {"mAP", number_or_null(scores.mean)}};
    for (const auto& one : scores.categories) {
      if (!by_category_) break;
      measure["by_category"].push_back(
          {{"id", one.category}, {"name", names_.at(one.category)}, {"AP", number_or_null(one.ap)}});
    }
    return measure;
  }

  std::string data_, detections_, list_;
  std::vector<std::string> measures_;
  std::vector<double> ratios_ = {0.02};
  bool by_category_ = false;
  bool strict_ = false;
  int threads_ = 0;
  std::map<int64_t, std::string> names_;
};

const RegisterCommand kEvaluate([] { return std::make_unique<Evaluate>(); });

}  // namespace
}  // namespace thalweg::cli
