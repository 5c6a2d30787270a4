// SPDX-License-Identifier: Apache-2.0
//
// The one exception type of the project. A message is written once, where the fault is known, in the form
// "thing: number or name: what is wrong" (lower case, no full stop), and shown once, by main() of the command line
// or by guard() of the nbdkit plugin. Nothing in between rewrites or logs it.
#pragma once

#include <stdexcept>
#include <string>

namespace nbdcrypt::base {

/// What went wrong, as coarse as the exit codes of cryptsetup(8) tell it apart.
enum class Kind {
  usage,        ///< wrong option, value or combination
  format,       ///< not a volume, damaged or contradictory header
  unsupported,  ///< valid, but not something this program does; always refused by name
  io,           ///< the system refused a read, write or flush; see Error::os_error
  passphrase,   ///< no key slot opens with this passphrase or key
  memory,       ///< out of memory
  device,       ///< image, header or key file missing, or of the wrong type
  busy,         ///< already open, locked or mounted
};

/// The exit code of cryptsetup(8), RETURN CODES: 1 parameters, 2 passphrase, 3 memory, 4 wrong device, 5 busy.
constexpr int exit_code(Kind kind) noexcept {
  switch (kind) {
    case Kind::passphrase:
      return 2;
    case Kind::memory:
      return 3;
    case Kind::device:
      return 4;
    case Kind::busy:
      return 5;
    default:
      return 1;
  }
}

/// `os_error`: the errno of the system call at fault, which an NBD client is told; 0 where there was none.
/// `hint`: a second line for people, empty where there is nothing to add.
class Error : public std::runtime_error {
 public:
  Error(Kind kind, const std::string& message, int os_error = 0, std::string hint = {})
      : std::runtime_error(message), kind_(kind), os_error_(os_error), hint_(std::move(hint)) {}

  Kind kind() const noexcept { return kind_; }
  int os_error() const noexcept { return os_error_; }
  const std::string& hint() const noexcept { return hint_; }

 private:
  Kind kind_;
  int os_error_;
  std::string hint_;
};

/// Throws Error{io, "what: <text of os_error>", os_error}.
[[noreturn]] void throw_os_error(const std::string& what, int os_error);

/// Throws Error{device, ...} when os_error says that a file is missing or not for us (ENOENT, EACCES, EISDIR, ...),
/// {busy} for EBUSY, else {io}.
[[noreturn]] void throw_open_error(const std::string& path, int os_error);

}  // namespace nbdcrypt::base
