// SPDX-License-Identifier: Apache-2.0
//
// Two passes. The first one knows the options of all commands, only to find the command's name among the words; the
// second one knows those of that command and gives them their types.
#include "cli/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <sstream>

#include "base/error.h"
#include "cli/add_options.h"

namespace nbdcrypt::cli {
namespace {

using base::Error;
using base::Kind;
using Words = std::vector<std::string>;

constexpr unsigned kHelpColumns = 100;
constexpr auto kStyle = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;

[[noreturn]] void refuse(const std::string& message, const std::string& hint) {
  throw Error(Kind::usage, message, 0, hint);
}

po::options_description common_options() {
  po::options_description options("Common options", kHelpColumns);
  add_flag(options, "help,?", "show this help");
  add_flag(options, "version,V", "show the version");
  add_flag(options, "verbose,v", "say how the command ended");
  add_flag(options, "batch-mode,q", "ask nothing, overwrite what is there");
  return options;
}

po::options_description options_of(const Command& command) {
  po::options_description options("Options", kHelpColumns);
  command.add_options(options);
  return options;
}

bool has_short_name(const po::option_description& option) {
  return option.canonical_display_name(po::command_line_style::allow_dash_for_short)[0] == '-';
}

const Command* find_command(std::span<const Command> commands, const std::string& name) {
  for (const Command& command : commands) {
    if (name == command.name) return &command;
    for (const char* alias : command.aliases) {
      if (name == alias) return &command;
    }
  }
  return nullptr;
}

// The options of all commands, each name once: with its short form where any command gives it one. When the command
// comes first, as it mostly does, its own options are what they are there; --json has a value in some commands alone.
po::options_description options_of_all(std::span<const Command> commands, const Command* own) {
  std::map<std::string, boost::shared_ptr<po::option_description>> by_name;
  const auto collect = [&by_name](const po::options_description& options) {
    for (const auto& option : options.options()) {
      auto& known = by_name[option->long_name()];
      if (known == nullptr || (!has_short_name(*known) && has_short_name(*option))) known = option;
    }
  };
  if (own != nullptr) collect(options_of(*own));
  collect(common_options());
  for (const Command& command : commands) collect(options_of(command));
  po::options_description all;
  for (const auto& [name, option] : by_name) all.add(option);
  return all;
}

// lexical_cast takes "-1" for the largest unsigned number; nobody means that.
void refuse_negative_numbers(const po::parsed_options& parsed, const po::options_description& options) {
  for (const po::option& given : parsed.options) {
    if (given.string_key.empty() || given.value.empty() || !given.value[0].starts_with('-')) continue;
    const auto semantic = options.find(given.string_key, false).semantic();
    const auto* typed = dynamic_cast<const po::typed_value_base*>(semantic.get());
    if (typed && (typed->value_type() == typeid(std::uint32_t) || typed->value_type() == typeid(std::uint64_t))) {
      refuse(fmt::format("option --{}: '{}' is not a number that it takes", given.string_key, given.value[0]), {});
    }
  }
}

po::parsed_options parse(const Words& words, const po::options_description& options, const std::string& help) {
  const std::string hint = fmt::format("'nbdcrypt {}--help' lists the options", help);
  try {
    return po::command_line_parser(words).options(options).style(kStyle).run();
  } catch (const po::unknown_option& e) {
    refuse("unknown option " + e.get_option_name(), hint);
  } catch (const po::invalid_command_line_syntax& e) {
    const bool extra = e.kind() == po::invalid_syntax::extra_parameter;
    refuse(fmt::format("option {} {}", e.get_option_name(), extra ? "takes no value" : "needs a value"), hint);
  } catch (const po::error& e) { refuse(e.what(), hint); }
}

po::variables_map values_of(const po::parsed_options& parsed, const std::string& help) {
  po::variables_map values;
  try {
    po::store(parsed, values);
  } catch (const po::multiple_occurrences& e) {
    refuse(fmt::format("option {} was given more than once", e.get_option_name()), {});
  } catch (const po::error& e) { refuse(e.what(), fmt::format("'nbdcrypt {}--help' lists the options", help)); }
  return values;
}

const Command& command_named(std::span<const Command> commands, const std::string& name) {
  if (const Command* found = find_command(commands, name)) return *found;
  refuse("unknown command " + name, "'nbdcrypt --help' lists the commands");
}

Words positional_words(const po::parsed_options& parsed) {
  Words words;
  for (const po::option& option : parsed.options) {
    if (option.string_key.empty()) words.insert(words.end(), option.value.begin(), option.value.end());
  }
  return words;
}

void refuse_options_of_others(const po::parsed_options& parsed, const Command& command,
                              const po::options_description& own) {
  for (const po::option& given : parsed.options) {
    if (given.string_key.empty() || own.find_nothrow(given.string_key, false) != nullptr) continue;
    refuse(fmt::format("{}: option --{} is not one of this command's", command.name, given.string_key),
           fmt::format("'nbdcrypt {} --help' lists the options", command.name));
  }
}

void check_count(const Command& command, const Arguments& arguments) {
  const std::size_t count = arguments.positional.size();
  if (count >= command.min_positional && count <= command.max_positional) return;
  refuse(fmt::format("{}: {} arguments", command.name, count < command.min_positional ? "too few" : "too many"),
         fmt::format("usage: nbdcrypt {} [OPTION...] {}", arguments.name, command.synopsis));
}

}  // namespace

CommandLine parse_command_line(std::span<const Command> commands, const Words& words) {
  const auto dashes = std::find(words.begin(), words.end(), "--");
  const Words before(words.begin(), dashes);
  Words after(dashes == words.end() ? dashes : dashes + 1, words.end());

  const Command* leading = before.empty() ? nullptr : find_command(commands, before.front());
  const po::options_description all = options_of_all(commands, leading);
  const po::parsed_options first = parse(before, all, "");
  Words positional = positional_words(first);
  CommandLine line;
  if (positional.empty()) {
    line.arguments.options = values_of(first, "");
    if (line.arguments.flag("help") || line.arguments.flag("version")) return line;
    refuse("no command given", "'nbdcrypt --help' lists the commands");
  }
  line.arguments.name = positional.front();
  positional.erase(positional.begin());
  line.command = &command_named(commands, line.arguments.name);

  po::options_description own = options_of(*line.command);
  own.add(common_options());
  refuse_options_of_others(first, *line.command, own);
  const std::string help = line.arguments.name + " ";
  const po::parsed_options second = parse(before, own, help);
  refuse_negative_numbers(second, own);
  line.arguments.options = values_of(second, help);
  line.arguments.positional = std::move(positional);
  Words& rest = line.command->takes_program ? line.arguments.after_dashes : line.arguments.positional;
  rest.insert(rest.end(), after.begin(), after.end());
  if (!line.arguments.flag("help") && !line.arguments.flag("version")) check_count(*line.command, line.arguments);
  return line;
}

std::string program_help(std::span<const Command> commands) {
  std::string text =
      "Usage: nbdcrypt [OPTION...] COMMAND [ARGUMENT...]\n"
      "Encrypted volumes (LUKS1, LUKS2, dm-crypt plain) in user space, over NBD.\n\nCommands:\n";
  for (const Command& command : commands) {
    text += fmt::format("  {:<34} {}\n", fmt::format("{} {}", command.name, command.synopsis), command.summary);
  }
  text += "\nOther names of commands:\n";
  for (const Command& command : commands) {
    if (!command.aliases.empty()) text += fmt::format("  {}: {}\n", command.name, fmt::join(command.aliases, ", "));
  }
  return text + "\n'nbdcrypt COMMAND --help' lists the options of a command; they are spelled as in cryptsetup(8).\n";
}

std::string command_help(const Command& command) {
  std::ostringstream text;
  text << fmt::format("Usage: nbdcrypt {} [OPTION...] {}\n{}\n", command.name, command.synopsis, command.summary);
  if (!command.aliases.empty()) text << fmt::format("Other names: {}\n", fmt::join(command.aliases, ", "));
  text << '\n' << options_of(command) << '\n' << common_options();
  return text.str();
}

}  // namespace nbdcrypt::cli
