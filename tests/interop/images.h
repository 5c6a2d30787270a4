// SPDX-License-Identifier: Apache-2.0
//
// The foreign LUKS images and their verdicts, as their MANIFEST.md gives them.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "tests/support/temp_dir.h"

namespace nbdcrypt::test {

struct ForeignImage {
  std::string archive = {};  // in images_dir()
  std::string member = {};   // of a tar archive; empty: the archive is one compressed file

  std::string key = {};          // the passphrase; "@name": the file of that name in the archive
  int key_slot = -1;             // named with --key-slot when it is not -1
  int test_exit = 0;             // of open --test-passphrase
  int open_exit = 0;             // of opening it for use
  std::string refusal = {};      // what the message then says, among other things
  int dump_exit = 0;             // of luksDump
  std::string uuid = {};         // of the file system inside; empty: not known
  std::uint64_t data_bytes = 0;  // appended before it is used: the image is a header alone

  std::string name() const;
  friend void PrintTo(const ForeignImage& image, std::ostream* out) { *out << image.name(); }
};

const std::vector<ForeignImage>& foreign_images();

/// An image unpacked into a folder of its own, with its key in a file.
class UnpackedImage {
 public:
  explicit UnpackedImage(const ForeignImage& image);
  const std::string& path() const { return path_; }
  const std::string& key_file() const { return key_file_; }
  const TempDir& dir() const { return dir_; }

 private:
  TempDir dir_;
  std::string path_, key_file_;
};

}  // namespace nbdcrypt::test
