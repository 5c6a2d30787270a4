// SPDX-License-Identifier: Apache-2.0
//
// A size in bytes as cryptsetup(8) spells it: "4096", "32S" (sectors of 512), "16M" or "16MiB" (1024-based), "16MB"
// (decimal).
#pragma once

#include <boost/any.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nbdcrypt::cli {

/// The value type of options that are sizes: po::value<ByteSize>().
struct ByteSize {
  std::uint64_t bytes = 0;
};

/// Nothing when `text` is not a size or does not fit in 64 bits.
std::optional<ByteSize> parse_byte_size(std::string_view text) noexcept;

/// "1.5 GiB", for people.
std::string human_size(std::uint64_t bytes);

/// Found by Boost.Program_options through the argument types.
void validate(boost::any& value, const std::vector<std::string>& words, ByteSize*, int);

}  // namespace nbdcrypt::cli
