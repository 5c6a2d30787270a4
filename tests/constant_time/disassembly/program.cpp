// SPDX-License-Identifier: Apache-2.0
#include "tests/constant_time/disassembly/program.h"

#include <algorithm>
#include <regex>
#include <sstream>

namespace nbdcrypt::disassembly {
namespace {

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t"), last = text.find_last_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

/// At commas outside of brackets and braces.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  for (const char c : text) {
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    if (c == ',' && depth == 0) {
      parts.push_back(trimmed(part)), part.clear();
    } else {
      part += c;
    }
  }
  if (!trimmed(part).empty()) parts.push_back(trimmed(part));
  return parts;
}

bool is_prefix(const std::string& word) {
  for (const char* prefix : {"rep", "repz", "repnz", "lock", "bnd", "notrack", "data16", "cs", "ds"}) {
    if (word == prefix) return true;
  }
  return false;
}

/// Of any machine; calls too.
bool is_branch(const std::string& word) {
  return word[0] == 'j' || word[0] == 'b' || word == "call" || word.starts_with("cb") || word.starts_with("tb");
}

Instruction parse(std::uint64_t address, const std::string& text) {
  Instruction instruction;
  instruction.address = address, instruction.text = text;
  std::istringstream words(text);
  std::string word;
  words >> word;
  while (is_prefix(word)) {
    if (word.starts_with("rep")) instruction.mnemonic = "rep ";
    if (!(words >> word)) break;
  }
  instruction.mnemonic += word;
  std::string rest;
  std::getline(words, rest);
  rest =
      rest.substr(0, std::min(rest.find("  # "), rest.find("//")));  // where a displacement leads, and what a number is
  // "5a0 <function+0x60>", behind other operands: where a branch goes.
  static const std::regex branch("(^|[ ,\t])([0-9a-f]+) <");
  if (std::smatch match; std::regex_search(rest, match, branch)) {
    if (is_branch(word)) instruction.target = std::stoull(match[2], nullptr, 16);
    rest = match.prefix();
  }
  instruction.operands = split(rest);
  return instruction;
}

}  // namespace

std::vector<Function> read_program(std::istream& listing, const std::string& member) {
  static const std::regex head("^[0-9a-f]+ <(.*)>:$"), code("^ *([0-9a-f]+):\t(.*)$");
  static const std::regex relocation("^\\s+[0-9a-f]+: R_\\S+\\s+(.*?)(-0x[0-9a-f]+|\\+0x[0-9a-f]+)?$");
  std::vector<Function> functions;
  bool inside = false;
  for (std::string line; std::getline(listing, line);) {
    std::smatch match;
    if (line.find("file format") != std::string::npos) {
      inside = line.starts_with(member + ":") || line.starts_with(member + ".o:");
    } else if (!inside) {
      continue;
    } else if (std::regex_match(line, match, head)) {
      functions.push_back({.name = match[1], .code = {}});
    } else if (functions.empty()) {
      continue;
    } else if (std::regex_match(line, match, relocation)) {
      if (!functions.back().code.empty()) functions.back().code.back().symbol = match[1];
    } else if (std::regex_match(line, match, code)) {
      functions.back().code.push_back(parse(std::stoull(match[1], nullptr, 16), match[2]));
    }
  }
  return functions;
}

}  // namespace nbdcrypt::disassembly
