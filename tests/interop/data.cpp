// SPDX-License-Identifier: Apache-2.0
#include "tests/interop/data.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cctype>
#include <iostream>
#include <random>
#include <span>

namespace nbdcrypt::test {
namespace {

constexpr std::size_t kRequestBytes = 1 << 20;

// The position of the first difference says more than a million bytes of both.
testing::AssertionResult equal(std::span<const std::uint8_t> expected, std::span<const std::uint8_t> got, Range range) {
  const auto [first, ignored] = std::mismatch(expected.begin(), expected.end(), got.begin(), got.end());
  if (first == expected.end() && got.size() == expected.size()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "differs at byte "
                                     << range.offset + static_cast<std::uint64_t>(first - expected.begin())
                                     << " in the range of " << range.bytes << " bytes at " << range.offset;
}

// The ranges of odd_ranges(), widened to whole sectors where the server wants them.
std::vector<Range> ranges_of(std::uint64_t size, unsigned seed, Grain grain) {
  constexpr std::uint64_t kSectorBytes = 512;
  std::vector<Range> ranges = odd_ranges(size, 64, seed);
  if (grain == Grain::byte) return ranges;
  for (Range& range : ranges) {
    const std::uint64_t end = (range.offset + range.bytes + kSectorBytes - 1) / kSectorBytes * kSectorBytes;
    range.offset = range.offset / kSectorBytes * kSectorBytes;
    range.bytes = static_cast<std::size_t>(end - range.offset);
  }
  return ranges;
}

std::span<const std::uint8_t> part(const Bytes& all, Range range) {
  return std::span(all).subspan(range.offset, range.bytes);
}

template <class F>
void for_each_request(std::uint64_t size, F&& f) {
  for (std::uint64_t offset = 0; offset < size; offset += kRequestBytes) {
    f(Range{offset, static_cast<std::size_t>(std::min<std::uint64_t>(kRequestBytes, size - offset))});
  }
}

}  // namespace

Bytes random_bytes(std::size_t bytes, unsigned seed) {
  std::mt19937_64 random(seed);
  Bytes out(bytes);
  for (std::size_t i = 0; i < bytes; i += 8) {
    const std::uint64_t word = random();
    std::copy_n(reinterpret_cast<const std::uint8_t*>(&word), std::min<std::size_t>(8, bytes - i), out.data() + i);
  }
  return out;
}

std::vector<Range> odd_ranges(std::uint64_t size, std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<Range> ranges = {{0, 1}, {size - 1, 1}, {0, 4097}, {size - 4099, 4099}};
  const std::uint64_t longest[] = {1, 16, 511, 700, 4095, 5000, 20000, 256 * 1024};
  while (ranges.size() < count) {
    const std::uint64_t limit = longest[ranges.size() % std::size(longest)];
    const std::uint64_t bytes = 1 + random() % std::min(limit, size);
    ranges.push_back({random() % (size - bytes + 1), static_cast<std::size_t>(bytes)});
  }
  return ranges;
}

Bytes read_whole(Client& volume) {
  Bytes all(volume.size());
  for_each_request(all.size(),
                   [&](Range range) { volume.read(range.offset, std::span(all).subspan(range.offset, range.bytes)); });
  return all;
}

void expect_holds(Client& volume, const Bytes& shadow, unsigned seed, Grain grain) {
  ASSERT_EQ(volume.size(), shadow.size());
  ASSERT_TRUE(equal(shadow, read_whole(volume), {0, shadow.size()}));
  for (const Range& range : ranges_of(shadow.size(), seed, grain)) {
    Bytes got(range.bytes);
    volume.read(range.offset, got);
    ASSERT_TRUE(equal(part(shadow, range), got, range));
  }
}

void overwrite(Client& volume, Bytes& shadow, unsigned seed, Grain grain) {
  ASSERT_EQ(volume.size(), shadow.size());
  shadow = random_bytes(shadow.size(), seed);
  for_each_request(shadow.size(), [&](Range range) { volume.write(range.offset, part(shadow, range)); });
  for (const Range& range : ranges_of(shadow.size(), seed, grain)) {
    const Bytes patch = random_bytes(range.bytes, ++seed);
    std::copy(patch.begin(), patch.end(), shadow.begin() + static_cast<std::ptrdiff_t>(range.offset));
    volume.write(range.offset, patch);
  }
  volume.flush();
}

Bytes read_bytes(const std::string& path) {
  const std::string content = read_file(path);
  return Bytes(content.begin(), content.end());
}

void write_bytes(const std::string& path, const Bytes& content) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

std::string sha256_of(const std::string& path) {
  const std::string content = read_file(path);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int bytes = 0;
  if (EVP_Digest(content.data(), content.size(), digest, &bytes, EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error("sha256");
  }
  std::string hex;
  for (unsigned i = 0; i < bytes; ++i) {
    hex += "0123456789abcdef"[digest[i] >> 4];
    hex += "0123456789abcdef"[digest[i] & 15];
  }
  return hex;
}

void report_count(const std::string& oracle, int count, const std::string& what) {
  std::string property = oracle;  // names of properties become XML attributes: no spaces
  std::replace_if(
      property.begin(), property.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  testing::Test::RecordProperty(property, count);
  std::cout << oracle << ": " << count << ' ' << what << std::endl;
}

}  // namespace nbdcrypt::test
