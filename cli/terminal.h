// SPDX-License-Identifier: Apache-2.0
//
// The conversation with a person at a terminal: lines that are not echoed, and the YES of cryptsetup. Terminal settings
// are put back however reading ends, by a signal as well.
#pragma once

#include <string>

#include "base/secret.h"
#include "volume/file_store.h"

namespace nbdcrypt::cli {

/// True when somebody types our standard input.
bool input_is_terminal() noexcept;

/// True when somebody reads our messages.
bool messages_are_read() noexcept;

/// Writes `text` to standard error, and to nothing else.
void tell(const std::string& text);

class Terminal {
 public:
  /// Opens /dev/tty, or standard input where there is none.
  Terminal();

  /// Shows `prompt` and reads a line without its newline, at most `limit_bytes`. timeout_seconds 0: waits for ever.
  /// Throws Error{usage} on end of file, on time-out, and for a longer line.
  base::SecretBuffer read_line(const std::string& prompt, bool echo, std::size_t limit_bytes,
                               unsigned timeout_seconds = 0);

 private:
  void write(const std::string& text);

  volume::FileDescriptor tty_;
  int in_, out_;
};

/// Asks whether to go on, as cryptsetup does: true for YES in capital letters alone. Asks nothing, and is true, when
/// nobody types or with `batch`.
bool confirm(const std::string& what_happens, bool batch);

}  // namespace nbdcrypt::cli
