// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <oneapi/dnnl/dnnl.hpp>

#include "base/cgroup.h"
#include "base/cpu.h"
#include "base/text.h"
#include "base/threads.h"
#include "cli/command.h"
#include "cli/environment.h"
#include "cli/text_table.h"
#include "runtime/kernels/simd/dispatch.h"
#include "thalweg/data/table.h"

namespace thalweg::cli {
namespace {

std::string onednn_isa() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41: return "sse41";
    case dnnl::cpu_isa::avx: return "avx";
    case dnnl::cpu_isa::avx2: return "avx2";
    case dnnl::cpu_isa::avx2_vnni: return "avx2_vnni";
    case dnnl::cpu_isa::avx2_vnni_2: return "avx2_vnni_2";
    case dnnl::cpu_isa::avx512_core: return "avx512_core";
    case dnnl::cpu_isa::avx512_core_vnni: return "avx512_core_vnni";
    case dnnl::cpu_isa::avx512_core_bf16: return "avx512_core_bf16";
    case dnnl::cpu_isa::avx512_core_fp16: return "avx512_core_fp16";
    case dnnl::cpu_isa::avx512_core_amx: return "avx512_core_amx";
    case dnnl::cpu_isa::avx512_core_amx_fp16: return "avx512_core_amx_fp16";
    default: return "other";
  }
}

Json precisions() {
  const bool bf16 = cpu_computes_in_bf16();
  const bool int8 = cpu_has_int8_products();
  Json result;
  result["bf16"] = {{"native", bf16},
                    {"means", bf16 ? "products take about half the time of f32, weights half the memory"
                                   : "no instructions for it here: Thalweg computes in f32 when asked for bf16"}};
  result["int8"] = {{"native", int8},
                    {"means", int8 ? "VNNI: products of quantised models take about a quarter of the time of f32"
                                   : "no VNNI here: products of quantised models gain little over f32"}};
  return result;
}

/// A value of /proc/meminfo in bytes.
int64_t meminfo(const std::string& wanted) {
  std::ifstream file("/proc/meminfo");
  std::string name;
  int64_t kibibytes = 0;
  for (std::string unit; file >> name >> kibibytes && std::getline(file, unit);) {
    if (name == wanted + ":") return kibibytes * 1024;
  }
  return 0;
}

/// null in place of "no limit".
template <typename T>
Json or_null(T value) {
  return value > 0 ? Json(value) : Json(nullptr);
}

Json versions() {
  const dnnl_version_t* onednn = dnnl::version();
  utsname system{};
  ::uname(&system);
  return {{"thalweg", TW_VERSION},
          {"onednn",
           std::to_string(onednn->major) + "." + std::to_string(onednn->minor) + "." + std::to_string(onednn->patch)},
          {"arrow", data::arrow_version()},
          {"compiler", "g++ " __VERSION__},
          {"libc", gnu_get_libc_version()},
          {"kernel", std::string(system.sysname) + " " + system.release}};
}

Json examine() {
  const CgroupLimits limits = cgroup_limits();
  Json report;
  report["versions"] = versions();
  report["cpu"] = {{"model", cpu_model()}, {"features", cpu_features()}};
  report["kernels"] = {{"own", simd::name_of(simd::best_isa())}, {"onednn", onednn_isa()}};
  report["precision"] = precisions();
  report["threads"] = {{"online", ::sysconf(_SC_NPROCESSORS_ONLN)}, {"used", available_processors()}};
  report["cgroup"] = {{"version", or_null(limits.version)},
                      {"processors", or_null(limits.processors)},
                      {"memory_bytes", or_null(limits.memory_bytes)}};
  report["memory"] = {
      {"total_bytes", meminfo("MemTotal")}, {"available_bytes", meminfo("MemAvailable")}, {"huge_pages", huge_pages()}};
  report["advice"] = Json::array();
  for (const Advice& advice : advise()) report["advice"].push_back({{"about", advice.about}, {"text", advice.text}});
  return report;
}

std::string bytes_or_none(const Json& bytes) { return bytes.is_null() ? "no limit" : human_bytes(bytes.get<double>()); }

std::string text_of(const Json& report) {
  std::ostringstream out;
  const auto line = [&](const std::string& name, const std::string& value) {
    out << name << std::string(name.size() < 12 ? 12 - name.size() : 1, ' ') << value << '\n';
  };
  line("CPU", report["cpu"]["model"]);
  line("features", join(report["cpu"]["features"].get<std::vector<std::string>>(), " "));
  line("kernels", "own: " + report["kernels"]["own"].get<std::string>() +
                      ", oneDNN: " + report["kernels"]["onednn"].get<std::string>());
  for (const auto& [name, precision] : report["precision"].items()) {
    line(name, std::string(precision["native"] ? "yes" : "no") + ": " + precision["means"].get<std::string>());
  }
  line("threads", report["threads"]["used"].dump() + " used of " + report["threads"]["online"].dump() + " processors");
  const Json& cgroup = report["cgroup"];
  if (cgroup["version"].is_null()) {
    line("cgroup", "none");
  } else {
    line("cgroup", "version " + cgroup["version"].dump() + ": processors " +
                       (cgroup["processors"].is_null() ? "no limit" : format("%.2f", cgroup["processors"])) +
                       ", memory " + bytes_or_none(cgroup["memory_bytes"]));
  }
  line("memory", human_bytes(report["memory"]["available_bytes"]) + " available of " +
                     human_bytes(report["memory"]["total_bytes"]) +
                     ", huge pages: " + report["memory"]["huge_pages"].get<std::string>());
  for (const auto& [name, version] : report["versions"].items()) line(name, version);
  if (report["advice"].empty()) line("advice", "none: nothing here slows Thalweg down");
  for (const Json& advice : report["advice"]) {
    line("advice", advice["about"].get<std::string>() + ": " + advice["text"].get<std::string>());
  }
  return out.str();
}

class Doctor : public Command {
 public:
  CommandDescription describe() const override {
    return {"doctor", "What this machine offers Thalweg, and what slows it down", "thalweg doctor"};
  }
  void add_options(CLI::App& /*options*/) override {}
  int run() override {
    print(examine(), text_of);
    return kDone;
  }
};

const RegisterCommand kDoctor([] { return std::make_unique<Doctor>(); });

}  // namespace
}  // namespace thalweg::cli
