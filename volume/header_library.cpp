// SPDX-License-Identifier: Apache-2.0
#include "volume/header_library.h"

#include <algorithm>
#include <cctype>
#include <mutex>
#include <system_error>

namespace nbdcrypt::volume {
namespace {

void discard(int, const char*, void*) {}

void collect(int level, const char* text, void* log) { static_cast<LibraryLog*>(log)->add(level, text); }

// Once for the process: the library's own defaults are to print, and to load plugins for tokens.
void quieten_library() {
  static std::once_flag once;
  std::call_once(once, [] {
    crypt_set_log_callback(nullptr, discard, nullptr);
    crypt_token_external_disable();
  });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  if (text.ends_with('.')) text.remove_suffix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  return text;
}

/// The library sees a copy of the header, "device /proc/self/fd/7"; people know it as the image that the message is
/// about.
void name_the_image(std::string& text) {
  constexpr std::string_view kCopy = "/proc/self/fd/", kDevice = "device ";
  for (std::size_t at; (at = text.find(kCopy)) != std::string::npos;) {
    const std::size_t end = std::min(text.find_first_not_of("0123456789", at + kCopy.size()), text.size());
    if (at >= kDevice.size() && text.compare(at - kDevice.size(), kDevice.size(), kDevice) == 0) at -= kDevice.size();
    text.replace(at, end - at, "the image");
  }
}

/// "Illegal sector size: 3.\n" -> "illegal sector size: 3"; "LUKS keyslot 1 is invalid." keeps its capitals.
std::string in_our_style(std::string_view line) {
  std::string text(trimmed(line));
  name_the_image(text);
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])))
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (std::string line = in_our_style(text.substr(0, end)); !line.empty()) lines.push_back(std::move(line));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

void LibraryLog::add(int level, std::string_view text) {
  constexpr std::string_view kError = "ERROR: ", kSummary = "LUKS2 validation failed";
  if (level == CRYPT_LOG_NORMAL) text_.append(text);
  if (level == CRYPT_LOG_ERROR) errors_.append(text).append("\n");
  if (level != CRYPT_LOG_DEBUG) return;
  // Of two damaged copies the first one's fault is kept. The summary follows the line that says what is wrong.
  if (text.starts_with(kError) && damage_.empty()) {
    const std::string_view what = text.substr(kError.size());
    damage_ = what.starts_with(kSummary) ? last_debug_ : std::string(what);
  }
  if (text.starts_with("LUKS2 header checksum error") && damage_.empty()) damage_ = text;
  last_debug_ = text;
}

std::vector<std::string> LibraryLog::notes() const {
  std::vector<std::string> notes = lines_of(text_);
  for (std::string& note : notes)
    if (constexpr std::string_view kWarning = "WARNING: "; note.starts_with(kWarning)) note.erase(0, kWarning.size());
  return notes;
}

std::string LibraryLog::reason() const {
  if (!damage_.empty()) return in_our_style(damage_);
  std::string reason;
  for (const std::string& line : lines_of(errors_)) reason.append(reason.empty() ? "" : "; ").append(line);
  return reason;
}

LibraryContext::LibraryContext(const std::string& path, const std::string& data) {
  quieten_library();
  crypt_device* device = nullptr;
  const int result =
      crypt_init_data_device(&device, path.empty() ? nullptr : path.c_str(), data.empty() ? nullptr : data.c_str());
  device_.reset(device);
  if (result < 0) fail(base::Kind::device, "starting libcryptsetup", result);
  crypt_set_log_callback(device, collect, &log_);
}

void LibraryContext::fail(base::Kind kind, const std::string& message, int result) const {
  const std::string reason = log_.reason();
  throw base::Error(result == -ENOMEM ? base::Kind::memory : kind,
                    message + ": " + (reason.empty() ? std::generic_category().message(-result) : reason));
}

}  // namespace nbdcrypt::volume
