// SPDX-License-Identifier: Apache-2.0
#include "bench/fs/memory_group.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "base/error.h"

namespace nbdcrypt::bench::fs {
namespace {

bool put(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  return !file.fail();
}

// "4:memory:/path" of version 1, "0::/path" of version 2.
std::string group_of_ours(const std::string& controller) {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second != std::string::npos && line.substr(first + 1, second - first - 1) == controller)
      return line.substr(second + 1);
  }
  return "/";
}

// Below our own group, else at the top: version 2 allows no groups below one that has processes of its own.
std::vector<std::string> places(const std::string& mount, const std::string& controller) {
  const std::string own = group_of_ours(controller), name = "/nbdcrypt-benchmark-" + std::to_string(getpid());
  return {mount + (own == "/" ? "" : own) + name, mount + name};
}

std::string make_in(const std::string& mount, const std::string& controller, const char* limit_file,
                    const std::string& limit) {
  for (const std::string& path : places(mount, controller)) {
    if (mkdir(path.c_str(), 0700) != 0) continue;
    if (access((path + "/" + limit_file).c_str(), W_OK) == 0 && put(path + "/" + limit_file, limit)) return path;
    rmdir(path.c_str());
  }
  return {};
}

}  // namespace

std::unique_ptr<MemoryGroup> MemoryGroup::make(std::uint64_t limit_bytes) {
  const std::string limit = std::to_string(limit_bytes);
  std::string path = make_in("/sys/fs/cgroup", "", "memory.max", limit);
  if (path.empty()) path = make_in("/sys/fs/cgroup/memory", "memory", "memory.limit_in_bytes", limit);
  return path.empty() ? nullptr : std::unique_ptr<MemoryGroup>(new MemoryGroup(path));
}

// Processes that have ended leave the group a little later.
void MemoryGroup::remove() const noexcept {
  for (int tries = 0; tries < 100 && rmdir(path_.c_str()) != 0; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

MemoryGroup::~MemoryGroup() { remove(); }

void MemoryGroup::enter() const {
  if (!put(path_ + "/cgroup.procs", std::to_string(getpid())))
    throw base::Error(base::Kind::io, path_ + "/cgroup.procs: cannot be entered");
}

}  // namespace nbdcrypt::bench::fs
