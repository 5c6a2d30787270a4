// SPDX-License-Identifier: Apache-2.0
//
// nbdcrypt: the list of its commands, and the only place where an Error becomes a message and an exit code.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <new>
#include <system_error>

#include "base/error.h"
#include "base/secret.h"
#include "cli/command_line.h"

namespace nbdcrypt::cli {
namespace {

constexpr char kVersion[] = NBDCRYPT_VERSION;

std::vector<Command> commands() {
  return {luks_format_command(), luks_dump_command(), is_luks_command(),  luks_uuid_command(), open_command(),
          create_command(),      close_command(),     status_command(),   mount_command(),     umount_command(),
          serve_command(),       copy_command(),      backends_command(), benchmark_command()};
}

// A file that is opened next must not become standard output.
void open_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (fcntl(fd, F_GETFD) == -1 && errno == EBADF && open("/dev/null", O_RDWR) != fd) _exit(1);
  }
}

// A handler and not SIG_IGN: writes fail with EPIPE here, and programs that we start get the default back.
void survive_broken_pipes() {
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  sigaction(SIGPIPE, &action, nullptr);
}

// cryptsetup's words for its exit codes, which scripts look for.
const char* meaning_of(int exit_code) {
  constexpr std::array kMeanings = {"wrong or missing parameters", "no permission or bad passphrase", "out of memory",
                                    "wrong device or file specified", "device already exists or device is busy"};
  return exit_code >= 1 && exit_code <= 5 ? kMeanings[static_cast<std::size_t>(exit_code - 1)] : "unknown error";
}

int report(int exit_code, const std::string& message, const std::string& hint = {}) {
  fmt::print(stderr, "nbdcrypt: {}\n", message);
  if (!hint.empty()) fmt::print(stderr, "hint: {}\n", hint);
  return exit_code;
}

// Runs `step`; its exit code, or that of the exception that it threw.
template <class Step>
int guarded(Step&& step) {
  try {
    return step();
  } catch (const base::Error& e) {
    return report(base::exit_code(e.kind()), e.what(), e.hint());
  } catch (const std::bad_alloc&) {
    return report(base::exit_code(base::Kind::memory), "out of memory");
  } catch (const std::exception& e) { return report(1, e.what()); }
}

int run(const CommandLine& line) {
  if (line.arguments.flag("version")) {
    fmt::print("nbdcrypt {}\n", kVersion);
    return 0;
  }
  if (line.arguments.flag("help")) {
    fmt::print("{}", line.command ? command_help(*line.command) : program_help(commands()));
    return 0;
  }
  const int exit_code = guarded([&line] { return line.command->run(line.arguments); });
  if (line.arguments.flag("verbose")) {
    if (exit_code == 0)
      fmt::print("Command successful.\n");
    else
      fmt::print("Command failed with code -{} ({}).\n", exit_code, meaning_of(exit_code));
  }
  return exit_code;
}

// What was printed counts only when it arrived.
int flushed(int exit_code) {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return exit_code;
  const int os_error = errno;
  if (os_error == EPIPE) return exit_code != 0 ? exit_code : 1;
  return report(1, "standard output: " + std::generic_category().message(os_error));
}

}  // namespace
}  // namespace nbdcrypt::cli

int main(int argc, char** argv) {
  using namespace nbdcrypt;
  base::forbid_core_dumps();
  cli::open_standard_descriptors();
  cli::survive_broken_pipes();
  return cli::guarded([&] {
    const std::vector<cli::Command> commands = cli::commands();
    const std::vector<std::string> words(argv + 1, argv + argc);
    return cli::flushed(cli::run(cli::parse_command_line(commands, words)));
  });
}
