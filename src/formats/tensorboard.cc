// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensorboard.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "formats/event_encoding.h"
#include "thalweg/error.h"

namespace thalweg {
namespace {

constexpr size_t kBufferBytes = 65536;

std::string reason(int error_number) { return std::generic_category().message(error_number); }

/// Seconds since 1970.
double now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 && name[0] != '\0' ? name : "localhost";
}

std::string new_file_name(const std::string& suffix) {
  static std::atomic<unsigned> counter{0};
  return "events.out.tfevents." + std::to_string(static_cast<int64_t>(now())) + "." + host_name() + "." +
         std::to_string(::getpid()) + "." + std::to_string(counter++) + suffix;
}

}  // namespace

struct EventWriter::State {
  State(const std::string& directory, const std::string& suffix) {
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    TW_REQUIRE(!error, "cannot create the directory ", directory, ": ", error.message());
    path = (std::filesystem::path(directory) / new_file_name(suffix)).string();
    descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    TW_REQUIRE(descriptor >= 0, "cannot create the event file ", path, ": ", reason(errno));
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    try {
      flush();
    } catch (const Error&) {  // documented: flush() tells, the destructor cannot
    }
    ::close(descriptor);
  }

  void add(const std::string& event) {
    buffer += formats::tfrecord(event);
    if (buffer.size() >= kBufferBytes) flush();
  }

  void flush() {
    size_t done = 0;
    while (done < buffer.size()) {
      const ssize_t count =
          ::pwrite(descriptor, buffer.data() + done, buffer.size() - done, static_cast<off_t>(size + done));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) abandon_buffer(errno);
      done += static_cast<size_t>(count);
    }
    size += done;
    buffer.clear();
  }

  /// Half a record in the file would hide all that come after it.
  [[noreturn]] void abandon_buffer(int error_number) {
    const size_t lost = buffer.size();
    buffer.clear();
    const bool cut = ::ftruncate(descriptor, static_cast<off_t>(size)) == 0;
    raise("cannot write to the event file ", path, " at byte ", size, ": ", reason(error_number), "; ", lost,
          " bytes of events are lost", cut ? "" : ", and the file is damaged");
  }

  std::string path;
  int descriptor = -1;
  size_t size = 0;  // of what is in the file for sure
  std::string buffer;
};

EventWriter::EventWriter(const std::string& directory, const std::string& suffix)
    : state_(std::make_unique<State>(directory, suffix)) {
  state_->add(formats::version_event(now()));
  state_->flush();
}

EventWriter::EventWriter(EventWriter&&) noexcept = default;
EventWriter& EventWriter::operator=(EventWriter&&) noexcept = default;
EventWriter::~EventWriter() = default;

const std::string& EventWriter::path() const { return state_->path; }

void EventWriter::add_scalar(const std::string& tag, double value, int64_t step) {
  state_->add(formats::scalar_event(now(), step, tag, static_cast<float>(value)));
}

void EventWriter::add_text(const std::string& tag, const std::string& text, int64_t step) {
  state_->add(formats::text_event(now(), step, tag, text));
}

void EventWriter::add_histogram(const std::string& tag, std::span<const float> values, int64_t step) {
  state_->add(formats::histogram_event(now(), step, tag, formats::make_histogram(values)));
}

void EventWriter::flush() { state_->flush(); }

}  // namespace thalweg
