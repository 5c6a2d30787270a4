// SPDX-License-Identifier: Apache-2.0
#include "tests/plugin/daemon.h"

#include <signal.h>

#include <chrono>
#include <thread>

namespace nbdcrypt::test {
namespace {

template <class Condition>
bool wait_until(Condition&& condition) {
  for (int tries = 0; tries < 1000; ++tries) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// True when it has ended; whose child it is then may take its time to reap it.
bool ended(pid_t pid) {
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  return stat.empty() || stat.find(") Z ") != std::string::npos;
}

}  // namespace

Daemon::Daemon(const Args& plugin_args, const DaemonOptions& options) {
  Args argv = options.wrapper;
  const auto append = [&](const Args& words) { argv.insert(argv.end(), words.begin(), words.end()); };
  append({"nbdkit", "-U", dir_ / "sock", "-P", dir_ / "pid"});
  append(options.nbdkit);
  append({NBDCRYPT_PLUGIN});
  append(plugin_args);
  const Result started = run(argv, {.input = options.input, .environment = sanitizer_environment()});
  said_ = started.err;
  if (!started.ok()) throw std::runtime_error("nbdkit ended: " + said_);
  // The child writes the file, possibly after its parent has ended.
  if (!wait_until([&] { return read_file(dir_ / "pid").ends_with('\n'); })) throw std::runtime_error("no process id");
  pid_ = std::stoi(read_file(dir_ / "pid"));
}

// Not our child: it can be signalled but not waited for.
Daemon::~Daemon() {
  if (pid_ <= 0) return;
  kill(pid_, SIGTERM);
  if (!wait_until([&] { return ended(pid_); })) kill(pid_, SIGKILL);
}

}  // namespace nbdcrypt::test
