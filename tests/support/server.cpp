// SPDX-License-Identifier: Apache-2.0
#include "tests/support/server.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace nbdcrypt::test {

Client::Client(const std::string& uri) : nbd_(nbd_create()) {
  if (nbd_ == nullptr || nbd_connect_uri(nbd_, uri.c_str()) == -1) {
    const std::string why = nbd_get_error();
    if (nbd_) nbd_close(nbd_);
    throw std::runtime_error(why);
  }
}

Client::~Client() {
  if (nbd_) {
    nbd_shutdown(nbd_, 0);
    nbd_close(nbd_);
  }
}

void Client::done(int result) {
  if (result != -1) return;
  errno_ = nbd_get_errno();
  throw std::runtime_error(nbd_get_error());
}

std::uint64_t Client::size() const { return static_cast<std::uint64_t>(nbd_get_size(nbd_)); }
void Client::read(std::uint64_t offset, std::span<std::uint8_t> out) {
  done(nbd_pread(nbd_, out.data(), out.size(), offset, 0));
}
void Client::write(std::uint64_t offset, std::span<const std::uint8_t> in, bool fua) {
  done(nbd_pwrite(nbd_, in.data(), in.size(), offset, fua ? LIBNBD_CMD_FLAG_FUA : 0));
}
void Client::zero(std::uint64_t offset, std::uint64_t bytes, std::uint32_t flags) {
  done(nbd_zero(nbd_, bytes, offset, flags));
}
void Client::trim(std::uint64_t offset, std::uint64_t bytes) { done(nbd_trim(nbd_, bytes, offset, 0)); }
void Client::flush() { done(nbd_flush(nbd_, 0)); }

Environment sanitizer_environment() {
  const std::string preload = NBDCRYPT_SANITIZER_PRELOAD;
  if (preload.empty()) return {};
  // nbdkit itself frees little when it ends. An exit code that no program uses otherwise.
  return {{"LD_PRELOAD", preload},
          {"ASAN_OPTIONS", "detect_leaks=0:exitcode=99"},
          {"UBSAN_OPTIONS", "exitcode=99"},
          {"TSAN_OPTIONS", "halt_on_error=1:exitcode=99"}};
}

namespace {

Args nbdkit(const std::string& socket, const std::string& plugin, const Args& plugin_args, const Args& nbdkit_args) {
  Args argv{"nbdkit", "-f", "-U", socket};
  argv.insert(argv.end(), nbdkit_args.begin(), nbdkit_args.end());
  argv.push_back(plugin);
  argv.insert(argv.end(), plugin_args.begin(), plugin_args.end());
  return argv;
}

Environment with(Environment environment, const Environment& more) {
  environment.insert(environment.end(), more.begin(), more.end());
  return environment;
}

}  // namespace

Server::Server(const Args& plugin_args, const Args& nbdkit_args, const std::string& plugin,
               const Environment& environment)
    : child_(nbdkit(dir_ / "sock", plugin, plugin_args, nbdkit_args), dir_ / "stderr",
             with(sanitizer_environment(), environment)) {
  wait_for_listener(socket(), child_, dir_ / "stderr");
}

Server::~Server() {
  if (!child_.alive() || sanitizer_environment().empty()) return;
  child_.stop();  // a report may come at the very end
  const std::string said = errors();
  EXPECT_TRUE(said.find("Sanitizer") == std::string::npos && said.find("runtime error") == std::string::npos) << said;
}

Result nbdkit_once(const Args& plugin_args, const Args& nbdkit_args) {
  const TempDir dir;
  return run(nbdkit(dir / "sock", NBDCRYPT_PLUGIN, plugin_args, nbdkit_args),
             {.environment = sanitizer_environment(), .timeout_seconds = 60});
}

}  // namespace nbdcrypt::test
