// SPDX-License-Identifier: Apache-2.0
#include "volume/lock_holder.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace nbdcrypt::volume {
namespace {

namespace fs = std::filesystem;

// The entries of `folder` that are numbers, ascending; none when it is not ours to read.
std::vector<long> numbers_in(const std::string& folder) {
  std::vector<long> numbers;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.find_first_not_of("0123456789") == std::string::npos) numbers.push_back(std::atol(name.c_str()));
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// "lock:\t1: OFDLCK ADVISORY  READ -1 00:1b:95 100 101": type, mode, access, process, file, first and last byte
// ("EOF").
bool overlaps(const std::string& line, const struct flock& lock) {
  std::istringstream words(line);
  std::string tag, number, type, mode, access, process, file, first, last;
  words >> tag >> number >> type >> mode >> access >> process >> file >> first >> last;
  if (tag != "lock:" || type != "OFDLCK") return false;
  const bool begins_before_end = lock.l_len == 0 || std::atoll(first.c_str()) < lock.l_start + lock.l_len;
  return begins_before_end && (last == "EOF" || std::atoll(last.c_str()) >= lock.l_start);
}

bool holds(const std::string& process, long fd, const struct stat& image, const struct flock& lock) {
  struct stat status;
  if (stat((process + "/fd/" + std::to_string(fd)).c_str(), &status) != 0) return false;
  if (status.st_dev != image.st_dev || status.st_ino != image.st_ino) return false;
  std::ifstream info(process + "/fdinfo/" + std::to_string(fd));
  for (std::string line; std::getline(info, line);) {
    if (overlaps(line, lock)) return true;
  }
  return false;
}

// The process's name as it goes into one line of text; anybody may name his process anything.
std::string name_of(long pid) {
  std::ifstream comm("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(comm, name);
  for (char& c : name) {
    if (c < ' ' || c > '~') c = '?';
  }
  return name.empty() ? "a process" : name;
}

}  // namespace

std::string lock_holder(int fd, const struct flock& lock) {
  const auto describe = [](long pid) { return name_of(pid) + " (process " + std::to_string(pid) + ")"; };
  if (lock.l_pid > 0) return describe(lock.l_pid);  // a traditional lock
  struct stat image;
  if (fstat(fd, &image) != 0) return "another process";
  for (const long pid : numbers_in("/proc")) {
    const std::string process = "/proc/" + std::to_string(pid);
    for (const long theirs : numbers_in(process + "/fd")) {
      if (holds(process, theirs, image, lock)) return describe(pid);
    }
  }
  return "another process";
}

}  // namespace nbdcrypt::volume
