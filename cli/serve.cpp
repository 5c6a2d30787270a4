// SPDX-License-Identifier: Apache-2.0
//
// nbdcrypt serve IMAGE [-- NBDKIT-OPTIONS]: the server in the foreground, for scripts and service managers. It listens
// at a socket in the runtime folder, at --socket, or wherever the options after "--" (or systemd's socket) say; the
// words after "--" go to nbdkit as they are. SIGTERM and Ctrl-C end it cleanly; if we are killed, nbdkit ends as well.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "cli/client.h"
#include "cli/interrupt.h"
#include "cli/opening.h"
#include "cli/process.h"
#include "cli/server.h"
#include "cli/teardown.h"
#include "cli/volume_options.h"

namespace nbdcrypt::cli {
namespace {

using base::Error;
using base::Kind;
using volume::FileDescriptor;

constexpr const char* kPrivateSocket = "-";

void add_serve_options(po::options_description& options) {
  add_volume_options(options);
  add_runtime_options(options);
  add_name_option(options);
  options.add_options()("socket", po::value<std::string>()->value_name("PATH"), "listen at this Unix socket");
}

bool has_long(const std::string& word, std::string_view option) {
  return word == option || word.starts_with(std::string(option) + "=");
}

// Options of nbdkit that say where it listens (nbdkit(1)).
bool says_where(const std::string& word) {
  if (word.size() >= 2 && word[0] == '-' && (word[1] == 'U' || word[1] == 'p' || word[1] == 's')) return true;
  constexpr std::array kLong{"--unix", "--port", "--vsock", "--single"};
  return std::any_of(kLong.begin(), kLong.end(), [&](const char* option) { return has_long(word, option); });
}

bool address_is_theirs(const Arguments& arguments) {
  const auto& words = arguments.after_dashes;
  return sockets_given() != 0 || std::any_of(words.begin(), words.end(), says_where);
}

bool runs_a_command(const Arguments& arguments) {
  const auto& words = arguments.after_dashes;
  return std::any_of(words.begin(), words.end(), [](const std::string& word) { return has_long(word, "--run"); });
}

// nbdkit finishes the requests that it has begun, and then waits for idle clients to hang up, however long that takes
// (measured with 1.32). Those are not waited for any longer than this.
constexpr int kFarewellMs = 5000;

// The server; it ends at the latest with this object.
class Foreground {
 public:
  explicit Foreground(const Program& nbdkit)
      : pid_(start(nbdkit, {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})),
        process_(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0))) {}
  Foreground(Foreground&& other) noexcept : pid_(std::exchange(other.pid_, -1)), process_(std::move(other.process_)) {}
  Foreground& operator=(const Foreground&) = delete;
  ~Foreground() {
    if (pid_ > 0) end();
  }
  pid_t pid() const noexcept { return pid_; }

  /// False when it ended within so many milliseconds, or we were told to end.
  bool runs_for(int milliseconds) const { return !ends_within(milliseconds) && Interrupts::pending() == 0; }

  /// Its exit code. Tells it to end first, when it runs; that it had to be killed then is no failure.
  int end() {
    if (ends_within(0)) return wait_for(std::exchange(pid_, -1));
    kill(pid_, SIGTERM);
    const bool ended = ends_within(kFarewellMs);
    if (!ended) kill(pid_, SIGKILL);
    const int exit_code = wait_for(std::exchange(pid_, -1));
    return ended ? exit_code : 0;
  }

 private:
  // An interrupt ends poll() early; for the last wait it has come already.
  bool ends_within(int milliseconds) const {
    pollfd ended{process_.get(), POLLIN, 0};
    return poll(&ended, 1, milliseconds) > 0;
  }

  pid_t pid_;
  FileDescriptor process_;
};

// Prints the URI as soon as clients may come, and serves until it is over.
int serve_until_told(Foreground& server, const std::string& socket) {
  bool announced = socket.empty();
  while (server.runs_for(announced ? 1000 : 10)) {
    if (announced || !is_listening(socket)) continue;
    fmt::print("{}\n", unix_uri(socket));
    std::fflush(stdout);
    announced = true;
  }
  return server.end();
}

// `address`: a socket; empty when the caller gave one, "-" for one that nbdkit makes and removes. It is never left
// without an address: it would listen to the whole network. `lock`: what the server is to hold, -1: nothing.
Foreground start_in_foreground(const Arguments& arguments, const volume::OpenOptions& options,
                               const volume::Unlocked& unlocked, const std::string& address, int lock) {
  const FileDescriptor key = key_pipe(unlocked.volume_key);
  Program nbdkit{
      .argv = {nbdkit_program(), "-f"}, .inherit = {key.get()}, .dies_with_us = true, .takes_our_sockets = true};
  if (lock >= 0) nbdkit.inherit.push_back(lock);
  if (!address.empty()) nbdkit.argv.insert(nbdkit.argv.end(), {"-U", address});
  if (options.read_only) nbdkit.argv.emplace_back("-r");
  for (std::string& word : plugin_words(options, unlocked, key.get())) nbdkit.argv.push_back(std::move(word));
  nbdkit.argv.insert(nbdkit.argv.end(), arguments.after_dashes.begin(), arguments.after_dashes.end());
  return Foreground(nbdkit);
}

// ---- at an address of the caller's choice: nothing is written to the runtime folder ----

int serve_at(const Arguments& arguments, const volume::OpenOptions& options, const std::string& address) {
  const std::string socket = address == kPrivateSocket ? "" : address;  // the one that we announce and remove
  if (struct stat status; !socket.empty() && lstat(socket.c_str(), &status) == 0)
    throw Error(Kind::busy, socket + ": exists already");
  refuse_if_locked(options);
  std::optional<volume::Unlocked> unlocked = unlock_volume(arguments, options);
  const Interrupts interrupts;
  Foreground server = start_in_foreground(arguments, options, *unlocked, address, -1);
  unlocked.reset();  // the key is the server's alone from here on
  const int exit_code = serve_until_told(server, socket);
  if (!socket.empty()) unlink(socket.c_str());
  return exit_code;
}

// ---- in the runtime folder ----

Foreground start_in_entry(const Arguments& arguments, const volume::OpenOptions& options,
                          const volume::Unlocked& unlocked, const Entry& entry) {
  State state = describe(entry.name(), options, unlocked);
  state.uri = unix_uri(entry.path(kSocketFile));
  entry.write(state);
  const FileDescriptor lock = entry.lock_for(Role::server);
  Foreground server = start_in_foreground(arguments, options, unlocked, entry.path(kSocketFile), lock.get());
  state.server_pid = server.pid();
  entry.write_pid(kServerPidFile, server.pid());
  entry.write(state);
  return server;
}

void remove_entry(const RuntimeDir& runtime, const std::string& name) {
  try {
    Entry entry = Entry::find(runtime, name);
    if (!entry.lives(Role::server)) entry.remove();
  } catch (const Error&) {  // `nbdcrypt close NAME` has ended us, and removes it itself
  }
}

int serve_as(const Arguments& arguments, const volume::OpenOptions& options, const RuntimeDir& runtime,
             const std::string& name) {
  std::optional<volume::Unlocked> unlocked = unlock_volume(arguments, options);
  const Interrupts interrupts;
  std::optional<Entry> entry = make_free_entry(runtime, name);
  const std::string socket = entry->path(kSocketFile);
  Foreground server = start_in_entry(arguments, options, *unlocked, *entry);
  entry.reset();     // others may look at it, and close it
  unlocked.reset();  // the key is the server's alone from here on
  const int exit_code = serve_until_told(server, socket);
  remove_entry(runtime, name);
  return exit_code;
}

int run_serve(const Arguments& arguments) {
  const volume::OpenOptions options = absolute_options(arguments, arguments.positional[0]);
  if (arguments.has("socket")) {
    if (address_is_theirs(arguments)) throw Error(Kind::usage, "--socket: the address is given after \"--\" as well");
    return serve_at(arguments, options, std::filesystem::absolute(arguments.get<std::string>("socket")));
  }
  if (address_is_theirs(arguments)) return serve_at(arguments, options, {});
  if (runs_a_command(arguments)) return serve_at(arguments, options, kPrivateSocket);
  const RuntimeDir runtime = RuntimeDir::choose(arguments);
  clean_stale(runtime);
  const std::string name = name_to_take(arguments, runtime, options);
  refuse_if_open(runtime, name);
  refuse_if_served(runtime, options);
  return serve_as(arguments, options, runtime, name);
}

}  // namespace

Command serve_command() {
  return {.name = "serve",
          .aliases = {},
          .synopsis = "IMAGE [-- NBDKIT-OPTIONS]",
          .summary = "unlock a volume and serve it over NBD in the foreground",
          .min_positional = 1,
          .max_positional = 1,
          .add_options = add_serve_options,
          .run = run_serve,
          .takes_program = true};
}

}  // namespace nbdcrypt::cli
