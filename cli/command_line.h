// SPDX-License-Identifier: Apache-2.0
//
// From the words of a command line to a command and its arguments. Options may come before the command's name, as in
// cryptsetup; they are never abbreviated, and one that a command does not know is refused by name.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/command.h"

namespace nbdcrypt::cli {

struct CommandLine {
  const Command* command = nullptr;  // null: only --help or --version of the program was asked for
  Arguments arguments;               // always with help, version, verbose and batch-mode
};

/// Throws Error{usage}, which names the option, the value or the word at fault.
CommandLine parse_command_line(std::span<const Command> commands, const std::vector<std::string>& words);

std::string program_help(std::span<const Command> commands);
std::string command_help(const Command& command);

}  // namespace nbdcrypt::cli
