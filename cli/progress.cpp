// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/byte_size.h"
#include "cli/terminal.h"

namespace nbdcrypt::cli {
namespace {

constexpr std::size_t kBarColumns = 30;
constexpr auto kRedraw = std::chrono::milliseconds(100);

}  // namespace

std::string progress_line(const std::string& what, std::uint64_t done_bytes, std::uint64_t total_bytes,
                          double seconds) {
  const double share = total_bytes == 0 ? 1 : static_cast<double>(done_bytes) / static_cast<double>(total_bytes);
  const std::size_t columns = std::min(kBarColumns, static_cast<std::size_t>(share * static_cast<double>(kBarColumns)));
  std::string line = fmt::format("{} [{:.<{}}] {:3.0f} %  {} of {}", what, std::string(columns, '#'), kBarColumns,
                                 share * 100, human_size(done_bytes), human_size(total_bytes));
  if (seconds > 0)
    line += fmt::format(", {}/s", human_size(static_cast<std::uint64_t>(static_cast<double>(done_bytes) / seconds)));
  return line;
}

Progress::Progress(std::string what, std::uint64_t total_bytes, bool quiet)
    : what_(std::move(what)), total_bytes_(total_bytes), shown_(!quiet && messages_are_read()) {}

Progress::~Progress() {
  if (drawn_) tell("\n");
}

void Progress::update(std::uint64_t done_bytes) {
  if (!shown_) return;
  const Clock::time_point now = Clock::now();
  if (drawn_ && done_bytes < total_bytes_ && now - last_ < kRedraw) return;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  tell(fmt::format("\r{}\033[K", progress_line(what_, done_bytes, total_bytes_, seconds)));
  drawn_ = true;
  last_ = now;
}

}  // namespace nbdcrypt::cli
