// SPDX-License-Identifier: Apache-2.0
//
// Takes LUKS2 headers apart and writes them back with right checksums, so that a test can damage one thing alone.
// Source: LUKS2 On-Disk Format 1.1.1, 2.1 (binary header), 2.2 (JSON area).
#pragma once

#include <openssl/evp.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "base/bytes.h"

namespace nbdcrypt::test {

/// One copy of a header: 4096 bytes of binary header and the JSON area.
class Luks2Copy {
 public:
  static constexpr std::size_t kBinaryBytes = 4096;
  static constexpr std::size_t kSizeAt = 8, kOffsetAt = 256, kChecksumAt = 448, kChecksumBytes = 64, kSha256Bytes = 32;

  /// Reads the copy at `offset` of `image`.
  Luks2Copy(const std::string& image, std::uint64_t offset) {
    std::ifstream in(image, std::ios::binary);
    in.seekg(static_cast<std::streamoff>(offset));
    binary_.resize(kBinaryBytes);
    in.read(binary_.data(), kBinaryBytes);
    area_.resize(size() - kBinaryBytes);
    in.read(area_.data(), static_cast<std::streamsize>(area_.size()));
    if (!in) throw std::runtime_error(image + ": no LUKS2 header to edit");
  }

  std::uint64_t size() const { return base::load_be<std::uint64_t>(at(kSizeAt)); }
  std::string& binary() { return binary_; }
  std::string& area() { return area_; }
  nlohmann::json json() const { return nlohmann::json::parse(area_.c_str()); }

  /// Puts `text` into the JSON area, zeros behind it.
  void set_text(const std::string& text) {
    if (text.size() > area_.size()) throw std::runtime_error("the JSON area is too small for this edit");
    area_.assign(area_.size(), '\0');
    area_.replace(0, text.size(), text);
  }
  /// Compact, slashes as they are: as the library writes it.
  void set_json(const nlohmann::json& metadata) { set_text(metadata.dump()); }

  /// Makes both copies of the header `bytes` large; the JSON text stays.
  void resize(std::uint64_t bytes) {
    base::store_be<std::uint64_t>(at(kSizeAt), bytes);
    area_.resize(bytes - kBinaryBytes, '\0');
  }

  /// Turns a first copy into a second one, which lies at `offset`.
  void make_second(std::uint64_t offset) {
    binary_.replace(0, 4, "SKUL");
    base::store_be<std::uint64_t>(at(kOffsetAt), offset);
  }

  void damage_checksum() { binary_[kChecksumAt] = static_cast<char>(binary_[kChecksumAt] ^ 1); }

  void seal() {
    std::fill_n(binary_.begin() + kChecksumAt, kChecksumBytes, '\0');
    const std::string all = binary_ + area_;
    if (EVP_Digest(all.data(), all.size(), at(kChecksumAt), nullptr, EVP_sha256(), nullptr) != 1)
      throw std::runtime_error("sha256");
  }

  void write(const std::string& image, std::uint64_t offset) const {
    std::fstream out(image, std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(static_cast<std::streamoff>(offset));
    out << binary_ << area_;
    if (!out.flush()) throw std::runtime_error(image + ": cannot be written");
  }

 private:
  base::Byte* at(std::size_t offset) { return reinterpret_cast<base::Byte*>(binary_.data() + offset); }
  const base::Byte* at(std::size_t offset) const {
    return reinterpret_cast<const base::Byte*>(binary_.data() + offset);
  }

  std::string binary_, area_;
};

/// Edits the metadata in both copies of a header.
inline void edit_luks2(const std::string& image, const std::function<void(nlohmann::json&)>& edit) {
  const std::uint64_t second = Luks2Copy(image, 0).size();
  for (const std::uint64_t offset : {std::uint64_t{0}, second}) {
    Luks2Copy copy(image, offset);
    nlohmann::json metadata = copy.json();
    edit(metadata);
    copy.set_json(metadata);
    copy.seal();
    copy.write(image, offset);
  }
}

}  // namespace nbdcrypt::test
