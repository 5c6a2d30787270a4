// SPDX-License-Identifier: Apache-2.0
//
// Every foreign LUKS image through both doors, the command line and the plugin: the verdict and exit code that its
// manifest gives, the same message from both, and not a byte of the image changed.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "tests/interop/cli.h"
#include "tests/interop/data.h"
#include "tests/interop/foreign.h"
#include "tests/interop/images.h"
#include "tests/support/requires.h"

namespace nbdcrypt::test {
namespace {

Result test_passphrase(const std::string& image, const Args& options) {
  Args args = {"open", "--test-passphrase", image};
  args.insert(args.end(), options.begin(), options.end());
  return nbdcrypt_cli(args);
}

// As cryptsetup's open and close; the result of open, or of the close that failed after it.
Result open_and_close(const std::string& image, const Args& options) {
  OpenVolume volume(image, options);
  if (!volume.opened().ok()) return volume.opened();
  const Result closed = volume.close();
  return closed.ok() ? volume.opened() : closed;
}

Bytes plaintext_of(const std::string& uri) {
  Client volume(uri);
  return read_whole(volume);
}

class WithForeignImage : public testing::TestWithParam<ForeignImage> {
 protected:
  static Args slot_option(const ForeignImage& image, const std::string& prefix) {
    return image.key_slot < 0 ? Args{} : Args{prefix + std::to_string(image.key_slot)};
  }

  static Args plugin_args(const UnpackedImage& unpacked) {
    Args args = {"file=" + unpacked.path(), "key-file=" + unpacked.key_file()};
    const Args slot = slot_option(GetParam(), "key-slot=");
    args.insert(args.end(), slot.begin(), slot.end());
    return args;
  }

  static Args cli_args(const std::string& key_file) {
    Args args = {"--key-file", key_file};
    const Args slot = slot_option(GetParam(), "--key-slot=");
    args.insert(args.end(), slot.begin(), slot.end());
    return args;
  }

  // cryptsetup tests and dumps a copy: it repairs what it can.
  static void expect_cryptsetup_agrees(const UnpackedImage& unpacked) {
    const std::string copy = unpacked.dir() / "copy";
    std::filesystem::copy_file(unpacked.path(), copy);
    Args test = cli_args(unpacked.key_file());
    test.insert(test.begin(), {"cryptsetup", "open", "--test-passphrase", copy});
    EXPECT_EQ(run(test).exit_code, GetParam().test_exit);
    EXPECT_EQ(run({"cryptsetup", "luksDump", copy}).exit_code, GetParam().dump_exit);
  }

  // The same bytes through copy and through the plugin, with the file system inside that the makers of the image put
  // there.
  static void expect_same_plaintext(const UnpackedImage& unpacked) {
    const std::string plaintext = unpacked.dir() / "plaintext";
    Args copy = cli_args(unpacked.key_file());
    copy.insert(copy.begin(), {"copy", unpacked.path(), plaintext});
    const Result copied = nbdcrypt_cli(copy);
    ASSERT_EQ(copied.exit_code, 0) << copied.err;
    const Server server(plugin_args(unpacked));
    EXPECT_TRUE(plaintext_of(server.uri()) == read_bytes(plaintext));
    if (GetParam().uuid.empty()) return;
    EXPECT_EQ(check({"blkid", "-p", "-o", "value", "-s", "UUID", plaintext}), GetParam().uuid + "\n");
  }
};

class Images : public WithForeignImage {
 protected:
  static void TearDownTestSuite() { report_count("foreign images", images_, "images"); }
  static inline int images_ = 0;
};

class ImagesThatOpen : public WithForeignImage {};

std::vector<ForeignImage> images_that_open() {
  std::vector<ForeignImage> some;
  std::copy_if(foreign_images().begin(), foreign_images().end(), std::back_inserter(some),
               [](const ForeignImage& image) { return image.open_exit == 0; });
  return some;
}

TEST_P(Images, VerdictIsTheManifestsThroughBothDoors) {
  NBDCRYPT_REQUIRE_IMAGES();
  NBDCRYPT_REQUIRE_TOOL("xz");
  NBDCRYPT_REQUIRE_TOOL("nbdkit");
  NBDCRYPT_REQUIRE_TOOL("blkid");
  NBDCRYPT_REQUIRE_TOOL("cryptsetup");
  const ForeignImage& image = GetParam();
  const UnpackedImage unpacked(image);
  const std::string before = sha256_of(unpacked.path());

  const Result tested = test_passphrase(unpacked.path(), cli_args(unpacked.key_file()));
  EXPECT_EQ(tested.exit_code, image.test_exit) << tested.err;
  const Result dumped = nbdcrypt_cli({"luksDump", unpacked.path()});
  EXPECT_EQ(dumped.exit_code, image.dump_exit) << dumped.err;
  expect_cryptsetup_agrees(unpacked);

  const Result opened = open_and_close(unpacked.path(), cli_args(unpacked.key_file()));
  EXPECT_EQ(opened.exit_code, image.open_exit) << opened.err;
  if (image.open_exit == 0) {
    expect_same_plaintext(unpacked);
  } else {
    const std::string message = message_of(opened);
    EXPECT_FALSE(message.empty()) << opened.err;
    EXPECT_NE(message.find(image.refusal), std::string::npos) << message;
    const Result refused = nbdkit_once(plugin_args(unpacked));
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_NE(refused.err.find(message), std::string::npos) << refused.err << "\nexpected: " << message;
  }
  EXPECT_EQ(sha256_of(unpacked.path()), before);
  if (!HasFailure()) ++images_;
}

TEST_P(ImagesThatOpen, WrongPassphraseIsExitCode2) {
  NBDCRYPT_REQUIRE_IMAGES();
  NBDCRYPT_REQUIRE_TOOL("xz");
  const UnpackedImage unpacked(GetParam());
  const Args wrong = cli_args(unpacked.dir().file("wrong", "not the passphrase"));
  EXPECT_EQ(test_passphrase(unpacked.path(), wrong).exit_code, 2);
  EXPECT_EQ(open_and_close(unpacked.path(), wrong).exit_code, 2);
}

INSTANTIATE_TEST_SUITE_P(Foreign, Images, testing::ValuesIn(foreign_images()),
                         [](const auto& cell) { return test_name(cell.param.name()); });
INSTANTIATE_TEST_SUITE_P(Foreign, ImagesThatOpen, testing::ValuesIn(images_that_open()),
                         [](const auto& cell) { return test_name(cell.param.name()); });

// These two are headers without anything to open.
class ForeignHeaders : public testing::TestWithParam<std::string> {};

TEST_P(ForeignHeaders, DumpWorksAndChangesNothing) {
  NBDCRYPT_REQUIRE_IMAGES();
  const UnpackedImage unpacked({.archive = GetParam()});
  const std::string before = sha256_of(unpacked.path());
  const Result dump = nbdcrypt_cli({"luksDump", unpacked.path()});
  EXPECT_EQ(dump.exit_code, 0) << dump.err;
  EXPECT_EQ(dump.out, check({"cryptsetup", "luksDump", unpacked.path()}));
  EXPECT_EQ(sha256_of(unpacked.path()), before);
}

INSTANTIATE_TEST_SUITE_P(Foreign, ForeignHeaders, testing::Values("luks2_valid_hdr.img.xz", "valid_header_file.xz"),
                         [](const auto& cell) { return test_name(cell.param); });

}  // namespace
}  // namespace nbdcrypt::test
