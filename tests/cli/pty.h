// SPDX-License-Identifier: Apache-2.0
//
// A program at a terminal of its own, as a person has it: everything that it shows, and what the terminal echoes, in
// one text.
#pragma once

#include <sys/types.h>

#include <string>

#include "tests/support/process.h"

namespace nbdcrypt::test {

class AtTerminal {
 public:
  /// Starts `argv` in a new session whose terminal this is: standard input, output and error, and /dev/tty.
  explicit AtTerminal(const Args& argv);
  AtTerminal(const AtTerminal&) = delete;
  AtTerminal& operator=(const AtTerminal&) = delete;
  ~AtTerminal();

  /// Waits until `text` was shown after what the last call waited for. False after 60 seconds or at the program's end.
  bool shows(const std::string& text);
  /// Types a line and its newline.
  void types(const std::string& line);
  /// Presses Ctrl-C.
  void interrupts();
  /// True when the terminal echoes what is typed.
  bool echoes() const;
  /// Reads to the program's end; its exit code as in Result.
  int ends();
  /// All that was shown so far.
  const std::string& screen() const { return screen_; }

 private:
  bool read_more();
  void write(const std::string& text);

  int terminal_;
  int line_;  // the program's end, kept open so that settings can be looked at after it ended
  pid_t pid_;
  std::string screen_;
  std::size_t seen_ = 0;
};

}  // namespace nbdcrypt::test
