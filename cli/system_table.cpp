// SPDX-License-Identifier: Apache-2.0
#include "cli/system_table.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "cli/process.h"

namespace nbdcrypt::cli {
namespace {

using namespace std::chrono_literals;

// The kernel writes blanks, newlines and backslashes as \ooo.
std::string unescape(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain += static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// "36 35 98:0 /root /target options [optional...] - type source superoptions"
Mount parse_mount(const std::string& line) {
  std::istringstream words(line);
  std::string skipped, target, word, type, source;
  words >> skipped >> skipped >> skipped >> skipped >> target;
  while (words >> word && word != "-") {}
  words >> type >> source;
  return {unescape(source), unescape(target), type};
}

std::string first_line(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

}  // namespace

std::vector<Mount> mount_table() {
  std::ifstream table("/proc/self/mountinfo");
  std::vector<Mount> mounts;
  for (std::string line; std::getline(table, line);) mounts.push_back(parse_mount(line));
  return mounts;
}

bool is_mount_point(const std::string& path) {
  const std::vector<Mount> mounts = mount_table();
  return std::any_of(mounts.begin(), mounts.end(), [&](const Mount& mount) { return mount.target == path; });
}

std::vector<std::string> loops_over(const std::string& path) {
  std::vector<std::string> devices;
  std::error_code ignored;
  for (const auto& block : std::filesystem::directory_iterator("/sys/block", ignored)) {
    const std::string name = block.path().filename();
    if (name.starts_with("loop") && first_line(block.path() / "loop/backing_file") == path)
      devices.push_back("/dev/" + name);
  }
  return devices;
}

std::string attach_loop(const std::string& path, const LoopOptions& options) {
  Program losetup{.argv = {"losetup", "-f", "--show", "--sector-size", std::to_string(options.sector_bytes)},
                  .own_session = true,  // all or nothing: it must not be cut off between attaching and telling us
                  .interruptible = false};
  const Window& window = options.window;
  if (options.direct_io) losetup.argv.emplace_back("--direct-io=on");
  if (options.read_only) losetup.argv.emplace_back("-r");
  if (window.offset_bytes != 0) losetup.argv.push_back("--offset=" + std::to_string(window.offset_bytes));
  if (window.bytes != 0) losetup.argv.push_back("--sizelimit=" + std::to_string(window.bytes));
  losetup.argv.push_back(path);
  std::string device = run_or_throw(losetup);
  while (device.ends_with('\n')) device.pop_back();
  return device;
}

void detach_loop(const std::string& device) noexcept {
  try {
    const std::filesystem::path attached = "/sys/block/" + device.substr(device.rfind('/') + 1) + "/loop/backing_file";
    run({.argv = {"losetup", "-d", device}, .own_session = true, .interruptible = false});
    for (int tries = 0; tries < 100 && std::filesystem::exists(attached); ++tries) std::this_thread::sleep_for(10ms);
  } catch (const std::exception&) {  // no losetup: then it made none
  }
}

}  // namespace nbdcrypt::cli
