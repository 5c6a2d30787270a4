// SPDX-License-Identifier: Apache-2.0
//
// What a command of the program is. One file per command defines one; main.cpp lists them all.
#pragma once

#include <boost/program_options.hpp>
#include <string>
#include <vector>

namespace nbdcrypt::cli {

namespace po = boost::program_options;

/// A parsed command line. Options that were not given and have no default are absent.
struct Arguments {
  po::variables_map options;
  std::string name;                       // of the command as it was typed: "luksOpen", where the command is "open"
  std::vector<std::string> positional;    // without the command's name
  std::vector<std::string> after_dashes;  // what follows "--"; only for commands that run a program

  bool has(const char* option) const { return options.count(option) != 0; }
  bool flag(const char* option) const { return has(option) && options[option].as<bool>(); }
  template <class T>
  T get(const char* option) const {
    return options[option].as<T>();
  }
  template <class T>
  T get_or(const char* option, T otherwise) const {
    return has(option) ? get<T>(option) : otherwise;
  }
};

/// Options of one name take a value in all commands or in none, as the name of the command may come after them; where
/// that is not so (--json), it has to come first.
/// Numbers are std::uint32_t or std::uint64_t (a minus sign is refused), sizes in bytes cli::ByteSize, flags
/// po::bool_switch().
struct Command {
  const char* name;                  // "open"
  std::vector<const char*> aliases;  // "luksOpen", "plainOpen"
  const char* synopsis;              // "IMAGE NAME"
  const char* summary;               // one line, for the list of commands
  std::size_t min_positional, max_positional;
  void (*add_options)(po::options_description&);  // next to those that all commands have: help verbose batch-mode
  int (*run)(const Arguments&);                   // returns the exit code, or throws base::Error
  bool takes_program = false;  // true: words after "--" are in after_dashes; false: they are positional like the others
};

// One function per command, each in the file of its name.
Command luks_format_command();
Command luks_dump_command();
Command is_luks_command();
Command luks_uuid_command();
Command copy_command();
Command backends_command();
Command benchmark_command();
Command open_command();
Command create_command();  // as open --type plain, with its arguments the other way round
Command close_command();
Command status_command();
Command mount_command();
Command umount_command();
Command serve_command();

}  // namespace nbdcrypt::cli
