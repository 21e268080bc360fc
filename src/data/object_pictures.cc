// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/object_pictures.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "data/annotations/problems.h"
#include "data/file_bytes.h"
#include "data/image/codec.h"
#include "data/image/edit.h"
#include "data/image/mosaic.h"
#include "data/image/resample.h"
#include "data/random.h"
#include "data/rows.h"

namespace thalweg::data {
namespace {

/// Masks of one picture, before they are made smaller.
constexpr int64_t kMostMaskBytes = int64_t{1} << 31;
constexpr int64_t kNoObject = -1;
/// A stream of chance of its own, beside those of the pipeline's transforms.
constexpr uint64_t kMosaicStream = 0x6D6F73616963;

/// A label on its way through the pipeline.
int64_t packed(int64_t label, bool crowd) { return 2 * label + (crowd ? 1 : 0); }

struct Sample {
  vision::Picture picture;
  std::vector<vision::Object> objects;
};

bool has_mask(const vision::Object& object) { return object.segmentation.index() != 0; }

vision::Rle mask_of(const vision::Object& object, ImageSize size) {
  if (const auto* polygons = std::get_if<std::vector<vision::Polygon>>(&object.segmentation)) {
    return vision::Rle::from_polygons(size.height, size.width, *polygons);
  }
  const auto& mask = std::get<vision::Rle>(object.segmentation);
  TW_REQUIRE(mask.height() == size.height && mask.width() == size.width, "the mask of object ", object.id,
             " is of another size than the picture");
  return mask;
}

Box clipped(const vision::Box& box, ImageSize size) {
  const auto within = [](double value, int64_t side) { return std::clamp(value, 0.0, static_cast<double>(side)); };
  return {within(box.x, size.width), within(box.y, size.height), within(box.x + box.width, size.width),
          within(box.y + box.height, size.height)};
}

/// A name that comes from anywhere must not lead out of the directory.
bool stays_inside(const std::string& file) {
  const std::filesystem::path path(file);
  return !file.empty() && path.is_relative() && std::find(path.begin(), path.end(), "..") == path.end();
}

double area_of(const Box& box) { return (box.x1 - box.x0) * (box.y1 - box.y0); }

}  // namespace

class ObjectPictures::Impl {
 public:
  Impl(const vision::Annotations& annotations, std::string directory, FilesPtr files,
       const ObjectPicturesOptions& options)
      : directory_(std::move(directory)), files_(std::move(files)), options_(options) {
    TW_REQUIRE(options_.max_objects >= 1 && options_.max_objects <= 1 << 16, "max_objects is ", options_.max_objects);
    TW_REQUIRE(options_.min_side >= 0 && options_.min_side < 1, "min_side is ", options_.min_side, ", not in [0, 1)");
    TW_REQUIRE(options_.mosaic_probability >= 0 && options_.mosaic_probability <= 1, "mosaic_probability is ",
               options_.mosaic_probability, ", not in [0, 1]");
    const auto is_size = [](ImageSize size, int64_t least) {
      return size.height >= least && size.width >= least && size.height <= 1 << 14 && size.width <= 1 << 14;
    };
    TW_REQUIRE(is_size(options_.masks, 1) || options_.masks == ImageSize(), "masks are no size");
    TW_REQUIRE(is_size(options_.mosaic_size, 2), "mosaic_size is no size");
    number_classes(annotations);
    collect(annotations);
    set_types();
  }

  int64_t size() const { return static_cast<int64_t>(samples_.size()); }
  const TensorType& input_type() const { return input_type_; }
  const std::vector<TensorType>& target_types() const { return target_types_; }
  const std::vector<std::string>& classes() const { return classes_; }
  const AnnotationProblems& problems() const { return problems_; }
  const Sample& sample(int64_t index) const {
    TW_REQUIRE(index >= 0 && index < size(), directory_, ": ", size(), " pictures, none has the number ", index);
    return samples_[static_cast<size_t>(index)];
  }
  void read(int64_t index, const Draw& draw, const Batch& batch, int64_t row) const;

 private:
  void number_classes(const vision::Annotations& annotations);
  void collect(const vision::Annotations& annotations);
  bool is_usable(const vision::Object& object, const vision::Picture& picture, ProblemList& problems) const;
  void set_types();
  bool wants_masks() const { return options_.masks.height > 0; }

  /// With objects; `bytes` must outlive it.
  ImageSample load(int64_t index, std::vector<uint8_t>& bytes) const;
  void add_objects(const Sample& from, ImageSample& picture) const;
  ImageSample load_mosaic(int64_t index, Random& random, std::array<std::vector<uint8_t>, 4>& bytes) const;
  /// Which objects of a sample are handed out, the order kept.
  std::vector<size_t> chosen(const ImageSample& picture) const;
  void write_targets(const ImageSample& picture, const Batch& batch, int64_t row) const;
  void write_mask(const ImageSample& picture, size_t object, uint8_t* target) const;

  const std::string directory_;
  /// Null if the directory is one of this machine.
  const FilesPtr files_;
  const ObjectPicturesOptions options_;
  std::vector<std::string> classes_;
  std::unordered_map<int64_t, int64_t> labels_;
  std::vector<Sample> samples_;
  AnnotationProblems problems_;
  TensorType input_type_;
  std::vector<TensorType> target_types_;
};

void ObjectPictures::Impl::number_classes(const vision::Annotations& annotations) {
  std::map<int64_t, std::string> by_id;
  for (const vision::Category& category : annotations.categories) by_id.emplace(category.id, category.name);
  for (const auto& [id, name] : by_id) {
    labels_[id] = static_cast<int64_t>(classes_.size());
    classes_.push_back(name);
  }
}

void ObjectPictures::Impl::collect(const vision::Annotations& annotations) {
  ProblemList problems(directory_, false);
  std::unordered_set<std::string> there;
  if (files_ != nullptr) {
    for (std::string& path : files_->list()) there.insert(std::move(path));
  }
  const auto is_there = [&](const std::string& file) {
    if (!stays_inside(file)) return false;
    std::error_code ignored;
    return files_ != nullptr ? there.count(file) > 0
                             : std::filesystem::is_regular_file(directory_ + "/" + file, ignored);
  };
  /// Of the samples, by the pictures' ids.
  std::unordered_map<int64_t, size_t> places;
  for (const vision::Picture& picture : annotations.pictures) {
    if (!is_there(picture.file)) {
      problems.add(problem::kNoPicture, "picture " + std::to_string(picture.id), directory_ + "/" + picture.file);
    } else if (places.emplace(picture.id, samples_.size()).second) {
      samples_.push_back({picture, {}});
    }
  }
  for (const vision::Object& object : annotations.objects) {
    const auto place = places.find(object.picture);
    if (place == places.end()) continue;
    Sample& sample = samples_[place->second];
    if (is_usable(object, sample.picture, problems)) sample.objects.push_back(object);
  }
  problems_ = problems.take();
  TW_REQUIRE(!samples_.empty(), directory_, ": holds none of the ", annotations.pictures.size(),
             " pictures of the annotations");
}

bool ObjectPictures::Impl::is_usable(const vision::Object& object, const vision::Picture& picture,
                                     ProblemList& problems) const {
  const std::string name = "object " + std::to_string(object.id) + " of " + picture.file;
  const ImageSize size{picture.height, picture.width};
  if (labels_.count(object.category) == 0) {
    problems.add(problem::kUnknownCategory, name, std::to_string(object.category) + "; left out");
  } else if (size.height > 0 && !(area_of(clipped(object.box, size)) > 0)) {
    problems.add(problem::kBox, name, "left out");
  } else if (wants_masks() && !has_mask(object)) {
    problems.add(problem::kMask, name, "it has none; left out");
  } else {
    return true;
  }
  return false;
}

void ObjectPictures::Impl::set_types() {
  input_type_ = options_.pipeline.output_type(channels_of(options_.decode.color));
  std::vector<int64_t> dims = input_type_.shape.dims();
  dims.insert(dims.begin(), kFree);
  input_type_.shape = Shape(dims);
  const int64_t most = options_.max_objects;
  target_types_ = {{DType::kF32, {kFree, most, 4}}, {DType::kI64, {kFree, most}}, {DType::kU8, {kFree, most}}};
  if (wants_masks()) {
    target_types_.push_back({DType::kU8, {kFree, most, options_.masks.height, options_.masks.width}});
  }
}

ImageSample ObjectPictures::Impl::load(int64_t index, std::vector<uint8_t>& bytes) const {
  const Sample& from = sample(index);
  const std::string path = directory_ + "/" + from.picture.file;
  if (files_ != nullptr) {
    files_->read(from.picture.file, bytes, kMostFileBytes);
  } else {
    read_file(path, bytes);
  }
  ImageSample picture(bytes, path, options_.decode);
  const ImageSize size = picture.size();
  const bool agrees = from.picture.height == 0 || size == ImageSize{from.picture.height, from.picture.width};
  TW_REQUIRE(agrees, path, ": has ", size.width, " x ", size.height, " pixels, and the annotations say ",
             from.picture.width, " x ", from.picture.height);
  try {
    add_objects(from, picture);
  } catch (const Error& error) {
    raise(path, ": ", error.what());
  }
  return picture;
}

void ObjectPictures::Impl::add_objects(const Sample& from, ImageSample& picture) const {
  const ImageSize size = picture.size();
  const auto count = static_cast<int64_t>(from.objects.size());
  if (wants_masks() && count > 0) {
    TW_REQUIRE(size.height * size.width <= kMostMaskBytes / count, count, " masks of ", size.width, " x ", size.height,
               " pixels are more than fit in ", kMostMaskBytes, " bytes");
    picture.masks = Tensor(DType::kU8, {count, size.height, size.width});
  }
  std::vector<bool> keep;
  for (int64_t i = 0; i < count; ++i) {
    const vision::Object& object = from.objects[static_cast<size_t>(i)];
    picture.boxes.push_back(clipped(object.box, size));
    picture.labels.push_back(packed(labels_.at(object.category), object.crowd));
    keep.push_back(area_of(picture.boxes.back()) > 0);
    if (!picture.masks.defined()) continue;
    const Tensor mask = mask_of(object, size).mask();
    std::memcpy(row_of(picture.masks, i), mask.raw(), mask.num_bytes());
  }
  // Where the annotations did not say the picture's size.
  ImageEdit(picture).keep_boxes(keep);
}

ImageSample ObjectPictures::Impl::load_mosaic(int64_t index, Random& random,
                                              std::array<std::vector<uint8_t>, 4>& bytes) const {
  std::array<int64_t, 4> numbers = {index, 0, 0, 0};
  for (size_t i = 1; i < numbers.size(); ++i) {
    numbers[i] = static_cast<int64_t>(random.below(static_cast<uint64_t>(size())));
  }
  std::array<ImageSample, 4> pictures = {load(numbers[0], bytes[0]), load(numbers[1], bytes[1]),
                                         load(numbers[2], bytes[2]), load(numbers[3], bytes[3])};
  return mosaic(pictures, options_.mosaic_size, random);
}

void ObjectPictures::Impl::read(int64_t index, const Draw& draw, const Batch& batch, int64_t row) const {
  thread_local std::array<std::vector<uint8_t>, 4> bytes;
  Random random(draw.seed ^ kMosaicStream, static_cast<uint64_t>(draw.epoch), static_cast<uint64_t>(index));
  try {
    const bool is_mosaic = random.chance(options_.mosaic_probability);
    ImageSample picture = is_mosaic ? load_mosaic(index, random, bytes) : load(index, bytes[0]);
    options_.pipeline.run(picture, draw, index, row_of(batch.inputs[0], row));
    write_targets(picture, batch, row);
  } catch (const Error& error) {
    throw SampleError(error.what());
  }
}

std::vector<size_t> ObjectPictures::Impl::chosen(const ImageSample& picture) const {
  const ImageSize size = picture.size();
  const double least_width = options_.min_side * static_cast<double>(size.width);
  const double least_height = options_.min_side * static_cast<double>(size.height);
  std::vector<size_t> result;
  for (size_t i = 0; i < picture.boxes.size(); ++i) {
    const Box& box = picture.boxes[i];
    if (box.x1 - box.x0 >= least_width && box.y1 - box.y0 >= least_height) result.push_back(i);
  }
  const auto most = static_cast<size_t>(options_.max_objects);
  if (result.size() <= most) return result;
  std::stable_sort(result.begin(), result.end(),
                   [&](size_t a, size_t b) { return area_of(picture.boxes[a]) > area_of(picture.boxes[b]); });
  result.resize(most);
  std::sort(result.begin(), result.end());
  return result;
}

void ObjectPictures::Impl::write_targets(const ImageSample& picture, const Batch& batch, int64_t row) const {
  for (const Tensor& target : batch.targets) std::memset(row_of(target, row), 0, row_bytes(target));
  auto* boxes = reinterpret_cast<float*>(row_of(batch.targets[0], row));
  auto* labels = reinterpret_cast<int64_t*>(row_of(batch.targets[1], row));
  auto* crowds = reinterpret_cast<uint8_t*>(row_of(batch.targets[2], row));
  std::fill_n(labels, options_.max_objects, kNoObject);
  const auto width = static_cast<double>(picture.size().width);
  const auto height = static_cast<double>(picture.size().height);
  const int64_t mask_pixels = options_.masks.height * options_.masks.width;
  int64_t place = 0;
  for (const size_t i : chosen(picture)) {
    const Box& box = picture.boxes[i];
    const std::array<double, 4> corners = {box.x0 / width, box.y0 / height, box.x1 / width, box.y1 / height};
    std::transform(corners.begin(), corners.end(), boxes + 4 * place, [](double v) { return static_cast<float>(v); });
    labels[place] = picture.labels[i] / 2;
    crowds[place] = static_cast<uint8_t>(picture.labels[i] % 2);
    if (wants_masks()) {
      write_mask(picture, i, reinterpret_cast<uint8_t*>(row_of(batch.targets[3], row)) + place * mask_pixels);
    }
    ++place;
  }
}

/// A pixel is inside if half of what it stands for is.
void ObjectPictures::Impl::write_mask(const ImageSample& picture, size_t object, uint8_t* target) const {
  const ImageSize size = picture.size();
  const auto number = static_cast<int64_t>(object);
  Tensor mask = picture.masks.rows(number, number + 1).clone().reshaped({size.height, size.width, 1});
  const int64_t pixels = size.height * size.width;
  constexpr uint8_t kInside = 255;
  for (int64_t i = 0; i < pixels; ++i) mask.data<uint8_t>()[i] = mask.data<uint8_t>()[i] != 0 ? kInside : 0;
  const Area whole{0, 0, static_cast<double>(size.width), static_cast<double>(size.height)};
  const Tensor smaller = resample(mask, whole, options_.masks, Interpolation::kBilinear);
  for (int64_t i = 0; i < smaller.num_elements(); ++i) target[i] = smaller.data<uint8_t>()[i] > kInside / 2 ? 1 : 0;
}

ObjectPictures::ObjectPictures(const vision::Annotations& annotations, const std::string& directory,
                               const ObjectPicturesOptions& options)
    : impl_(std::make_shared<Impl>(annotations, directory, nullptr, options)) {}

ObjectPictures::ObjectPictures(const vision::Annotations& annotations, FilesPtr files,
                               const ObjectPicturesOptions& options) {
  TW_REQUIRE(files != nullptr, "pictures need files, got a null pointer");
  const std::string name = files->name();
  impl_ = std::make_shared<Impl>(annotations, name, std::move(files), options);
}

ObjectPictures::~ObjectPictures() = default;

int64_t ObjectPictures::size() const { return impl_->size(); }
std::vector<TensorType> ObjectPictures::input_types() const { return {impl_->input_type()}; }
std::vector<TensorType> ObjectPictures::target_types() const { return impl_->target_types(); }

void ObjectPictures::read(std::span<const int64_t> indices, const Draw& draw, const Batch& batch, int64_t row) const {
  const std::shared_ptr<Impl> impl = impl_;
  for (const int64_t index : indices) impl->read(index, draw, batch, row++);
}

const std::vector<std::string>& ObjectPictures::classes() const { return impl_->classes(); }
const vision::Picture& ObjectPictures::picture(int64_t index) const { return impl_->sample(index).picture; }
const AnnotationProblems& ObjectPictures::problems() const { return impl_->problems(); }

}  // namespace thalweg::data
