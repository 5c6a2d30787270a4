// SPDX-License-Identifier: Apache-2.0
//
// Plaintext to compare with: random bytes that are the same in every run, ranges that begin and end anywhere, and both
// through a real NBD connection. The shadow of a volume is what it should hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/server.h"

namespace nbdcrypt::test {

using Bytes = std::vector<std::uint8_t>;

struct Range {
  std::uint64_t offset;
  std::size_t bytes;
};

Bytes random_bytes(std::size_t bytes, unsigned seed);

/// Ranges inside [0, size): single bytes, parts of sectors, across sector borders, and some of up to 256 KiB. The first
/// and the last byte are among them. Most begin and end off any sector's border.
std::vector<Range> odd_ranges(std::uint64_t size, std::size_t count, unsigned seed);

/// The smallest piece that a server takes requests in; ours takes any.
enum class Grain { byte, sector };

/// All of the volume, in requests of 1 MiB.
Bytes read_whole(Client& volume);

/// Expects the volume to hold `shadow` and nothing behind it: read whole, then in odd ranges. Stops at
/// the first difference.
void expect_holds(Client& volume, const Bytes& shadow, unsigned seed, Grain grain = Grain::byte);

/// Writes other random bytes: the whole volume, then odd ranges over it, then a flush. Keeps `shadow` (of the volume's
/// size) up to date.
void overwrite(Client& volume, Bytes& shadow, unsigned seed, Grain grain = Grain::byte);

Bytes read_bytes(const std::string& path);
void write_bytes(const std::string& path, const Bytes& content);
/// sha256 of a file, in hex.
std::string sha256_of(const std::string& path);

/// "luks2 reencrypt oracle: 44 cells" on standard output and among the properties of the test report.
void report_count(const std::string& oracle, int count, const std::string& what = "cells");

}  // namespace nbdcrypt::test
