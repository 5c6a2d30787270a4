// SPDX-License-Identifier: Apache-2.0
//
// copy, both ways, to files and to real servers; with foreign programs as witnesses of what is in the volume.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <random>
#include <set>

#include "tests/cli/program.h"
#include "tests/cli/pty.h"
#include "tests/support/requires.h"
#include "tests/support/server.h"
#include "tests/support/temp_dir.h"

namespace nbdcrypt::test {
namespace {

using testing::HasSubstr;

constexpr std::size_t kPlainBytes = 5 * 1024 * 1024 + 1536;  // not a whole number of requests
constexpr std::size_t kLuks1Offset = 2 * 1024 * 1024;

std::string noise(std::size_t bytes) {
  std::mt19937_64 random(7);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

class Copy : public testing::Test {
 protected:
  void SetUp() override {
    NBDCRYPT_REQUIRE_TOOL("cryptsetup");
    check({"cryptsetup", "luksFormat", "-q", "--type", "luks1", "--pbkdf-force-iterations", "1000", image_, key_});
  }
  Result copy(const Args& words) { return nbdcrypt(Args{"copy", "--key-file", key_} + words); }
  void fill(const std::string& plaintext) {
    const Result result = copy({"--encrypt", dir_.file("filling", plaintext), image_});
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  std::string decrypted() {
    std::filesystem::remove(dir_ / "decrypted");
    const Result result = copy({image_, dir_ / "decrypted"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return read_file(dir_ / "decrypted");
  }

  TempDir dir_;
  std::string key_ = dir_.file("key", "secret"), image_ = dir_.sparse("image", kLuks1Offset + kPlainBytes);
  std::string plain_ = noise(kPlainBytes);
};

TEST_F(Copy, WhatGoesInComesOutAndNotInTheClear) {
  fill(plain_);
  EXPECT_TRUE(same(decrypted(), plain_));
  EXPECT_EQ(read_file(image_).find(plain_.substr(4096, 64)), std::string::npos);
}

TEST_F(Copy, QemuReadsWhatWasEncrypted) {
  NBDCRYPT_REQUIRE_TOOL("qemu-img");
  fill(plain_);
  check({"qemu-img", "convert", "--object", "secret,id=s,file=" + key_, "--image-opts",
         "driver=luks,key-secret=s,file.driver=file,file.filename=" + image_, "-O", "raw", dir_ / "qemu.raw"});
  EXPECT_TRUE(same(read_file(dir_ / "qemu.raw"), plain_));
}

TEST_F(Copy, WhatQemuEncryptedIsDecrypted) {
  NBDCRYPT_REQUIRE_TOOL("qemu-img");
  const std::string foreign = dir_ / "foreign", source = dir_.file("source", plain_);
  check({"qemu-img", "convert", "-f", "raw", "-O", "luks", "--object", "secret,id=s,file=" + key_, "-o",
         "key-secret=s,iter-time=10", source, foreign});
  ASSERT_EQ(copy({foreign, dir_ / "out"}).exit_code, 0);
  EXPECT_TRUE(same(read_file(dir_ / "out"), plain_));
}

TEST_F(Copy, GoesToAServerAndComesFromOne) {
  NBDCRYPT_REQUIRE_TOOL("nbdkit");
  fill(plain_);
  Server memory({"size=" + std::to_string(kPlainBytes)}, {}, "memory");
  ASSERT_EQ(copy({image_, memory.uri()}).exit_code, 0);
  std::string received(kPlainBytes, '\0');
  Client client = memory.connect();
  client.read(0, {reinterpret_cast<std::uint8_t*>(received.data()), received.size()});
  EXPECT_TRUE(same(received, plain_));

  fill(std::string(kPlainBytes, 'x'));
  const Result back = copy({"--encrypt", memory.uri(), image_});
  ASSERT_EQ(back.exit_code, 0) << back.err;
  EXPECT_TRUE(same(decrypted(), plain_));
}

TEST_F(Copy, ZerosBecomeHolesInNewFilesAndOldOnes) {
  std::string sparse(kPlainBytes, '\0');
  sparse.replace(3 << 20, 10, "not a zero");
  fill(sparse);
  const std::string fresh = dir_ / "fresh", old = dir_.file("old", std::string(kPlainBytes, 'x'));
  for (const std::string& out : {fresh, old}) {
    ASSERT_EQ(copy({image_, out}).exit_code, 0);
    EXPECT_TRUE(same(read_file(out), sparse));
    struct stat status;
    ASSERT_EQ(stat(out.c_str(), &status), 0);
    EXPECT_LE(status.st_blocks * 512, 1 << 20) << out;
  }
}

TEST_F(Copy, ZerosReachAServerThatHeldSomethingElse) {
  NBDCRYPT_REQUIRE_TOOL("nbdkit");
  fill(std::string(kPlainBytes, '\0'));
  Server memory({"size=" + std::to_string(kPlainBytes)}, {}, "memory");
  Client client = memory.connect();
  std::string content(kPlainBytes, 'x');
  client.write(0, {reinterpret_cast<const std::uint8_t*>(content.data()), content.size()});
  ASSERT_EQ(copy({image_, memory.uri()}).exit_code, 0);
  client.read(0, {reinterpret_cast<std::uint8_t*>(content.data()), content.size()});
  EXPECT_TRUE(same(content, std::string(kPlainBytes, '\0')));
}

TEST_F(Copy, ANewFileIsItsOwnersAlone) {
  decrypted();
  struct stat status;
  ASSERT_EQ(stat((dir_ / "decrypted").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
}

TEST_F(Copy, ADifferenceInSizeIsSaidAndNothingWritten) {
  const std::string image = read_file(image_);
  const std::string small = dir_.file("small", std::string(kPlainBytes - 512, 's')),
                    large = dir_.file("large", std::string(kPlainBytes + 5, 'l'));
  EXPECT_THAT(copy({image_, small}).err, HasSubstr("512 bytes too small"));
  EXPECT_THAT(copy({image_, large}).err, HasSubstr("5 bytes too large"));
  EXPECT_THAT(copy({"--encrypt", small, image_}).err, HasSubstr("512 bytes too large"));
  EXPECT_EQ(copy({"--encrypt", large, image_}).exit_code, 1);
  EXPECT_TRUE(same(read_file(small), std::string(kPlainBytes - 512, 's')));
  EXPECT_TRUE(same(read_file(image_), image));
}

TEST_F(Copy, InputAndOutputMustDiffer) {
  const std::string link = dir_ / "link", symbolic = dir_ / "symbolic", before = read_file(image_);
  std::filesystem::create_hard_link(image_, link);
  std::filesystem::create_symlink(image_, symbolic);
  for (const std::string& other : {image_, link, symbolic}) {
    EXPECT_THAT(copy({image_, other}).err, HasSubstr("input and output are the same"));
    EXPECT_THAT(copy({"--encrypt", other, image_}).err, HasSubstr("input and output are the same"));
  }
  EXPECT_THAT(copy({"--header", image_, dir_.sparse("data", 4096), image_}).err, HasSubstr("is the header of"));
  EXPECT_TRUE(same(read_file(image_), before));
}

TEST_F(Copy, AFailedCopyLeavesNoNewFileAndKeepsAnOldOne) {
  const std::string old = dir_.file("old", "precious");
  EXPECT_EQ(nbdcrypt({"copy", "--key-file", dir_.file("wrong", "x"), image_, dir_ / "new"}).exit_code, 2);
  EXPECT_EQ(copy({image_, old}).exit_code, 1);
  EXPECT_FALSE(std::filesystem::exists(dir_ / "new"));
  EXPECT_TRUE(same(read_file(old), "precious"));
}

// In a namespace of its own, with an output folder that fills up in the middle of the copy.
TEST_F(Copy, AFullDiskEndsTheCopyAndTheNewFileGoesAway) {
  const Args own = {"unshare", "-Urm", "sh", "-c"};
  const std::string folder = dir_ / "folder", mount = "mount -t tmpfs -o size=2m none " + folder;
  std::filesystem::create_directory(folder);
  NBDCRYPT_REQUIRE(have_tool("unshare") && run(own + Args{mount}).ok(), "unshare with a mount of tmpfs");
  fill(plain_);
  const Result result =
      run(own + Args{mount + " && { \"$0\" copy --key-file \"$1\" \"$2\" \"$3\"; echo $?; ls -A " + folder + "; }",
                     NBDCRYPT_PROGRAM, key_, image_, folder + "/new"});
  EXPECT_THAT(result.err, HasSubstr("No space left on device"));
  EXPECT_EQ(result.out, "1\n");
}

TEST_F(Copy, CtrlCEndsALongCopy) {
  NBDCRYPT_REQUIRE_TOOL("nbdkit");
  check({"truncate", "-s", std::to_string(kLuks1Offset + (256 << 20)), image_});
  Server slow({"size=256M", "rate=64M"}, {"--filter=rate"}, "memory");
  AtTerminal program({NBDCRYPT_PROGRAM, "copy", "--key-file", key_, "--encrypt", slow.uri(), image_});
  ASSERT_TRUE(program.shows(" MiB of 256.0 MiB")) << program.screen();
  program.interrupts();
  EXPECT_NE(program.ends(), 0);
  EXPECT_THAT(program.screen(), HasSubstr("interrupted"));
}

TEST_F(Copy, CtrlCTakesTheNewFileAway) {
  const std::string image = dir_.sparse("plain", 1 << 30), key = dir_.file("k", std::string(32, 'k'));
  AtTerminal program({NBDCRYPT_PROGRAM, "copy", "--type", "plain", "-c", "aes-xts-plain64", "-s", "256", "-d", key,
                      "--backend", "generic", "--offload", "off", image, dir_ / "new"});
  ASSERT_TRUE(program.shows(" MiB of 1.0 GiB")) << program.screen();
  EXPECT_TRUE(std::filesystem::exists(dir_ / "new"));
  program.interrupts();
  EXPECT_NE(program.ends(), 0);
  EXPECT_FALSE(std::filesystem::exists(dir_ / "new"));
}

TEST_F(Copy, ShowsABarAtATerminalAloneAndNotInBatchMode) {
  AtTerminal program({NBDCRYPT_PROGRAM, "copy", "--key-file", key_, image_, dir_ / "out"});
  EXPECT_EQ(program.ends(), 0);
  EXPECT_THAT(program.screen(), HasSubstr("100 %  5.0 MiB of 5.0 MiB"));
  AtTerminal quiet({NBDCRYPT_PROGRAM, "copy", "-q", "--key-file", key_, image_, dir_ / "out"});
  EXPECT_EQ(quiet.ends(), 0);
  EXPECT_EQ(quiet.screen(), "");
  const Result piped = copy({image_, dir_ / "out"});
  EXPECT_EQ(piped.out + piped.err, "");
}

TEST_F(Copy, ServersThatCannotBeReachedOrWrittenAreRefused) {
  NBDCRYPT_REQUIRE_TOOL("nbdkit");
  EXPECT_EQ(copy({image_, "nbd+unix:///?socket=" + (dir_ / "nobody")}).exit_code, 4);
  Server readonly({"size=" + std::to_string(kPlainBytes)}, {"-r"}, "memory");
  const Result result = copy({image_, readonly.uri()});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("read-only"));
}

TEST_F(Copy, AnErrorOfTheServerIsAnErrorOfTheCopy) {
  NBDCRYPT_REQUIRE_TOOL("nbdkit");
  fill(plain_);
  Server failing({"size=" + std::to_string(kPlainBytes), "error-pwrite=ENOSPC", "error-pwrite-rate=100%"},
                 {"--filter=error"}, "memory");
  const Result result = copy({image_, failing.uri()});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("No space left on device"));
}

TEST_F(Copy, EveryOptionOfAPlainVolumeIsHeeded) {
  const std::string raw = dir_.file("raw", noise(1 << 20)), key = dir_.file("k", std::string(32, 'k'));
  const Args plain = {"--type", "plain", "-c", "aes-cbc-essiv:sha256", "-s", "256", "-h", "plain", "--key-file", key};
  std::set<std::string> ciphertexts;
  for (const Args& options : std::vector<Args>{{},
                                               {"--skip", "8"},
                                               {"--sector-size", "4096"},
                                               {"--sector-size", "4096", "--iv-large-sectors"},
                                               {"--offset", "8"},
                                               {"--size", "2048", "--offset", "8"}}) {
    const bool sized = !options.empty() && options[0] == "--size";
    const bool shifted = !options.empty() && (options[0] == "--offset" || sized);
    const std::string image = dir_.sparse("plain", (1 << 20) + (shifted ? 4096 : 0) + (sized ? 8192 : 0));
    const Result in = nbdcrypt(Args{"copy", "--encrypt"} + plain + options + Args{raw, image});
    ASSERT_EQ(in.exit_code, 0) << in.err;
    std::filesystem::remove(dir_ / "out");
    ASSERT_EQ(nbdcrypt(Args{"copy"} + plain + options + Args{image, dir_ / "out"}).exit_code, 0);
    EXPECT_TRUE(same(read_file(dir_ / "out"), read_file(raw)));
    ciphertexts.insert(read_file(image));
  }
  EXPECT_EQ(ciphertexts.size(), 6u) << "two option sets gave the same ciphertext";
}

TEST_F(Copy, BackendAndOffloadDoNotChangeTheResult) {
  fill(plain_);
  for (const char* how : {"off", "buffer", "batch"}) {
    std::filesystem::remove(dir_ / "out");
    const Result result = copy({"--backend", "generic", "--offload", how, image_, dir_ / "out"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(same(read_file(dir_ / "out"), plain_)) << how;
  }
  EXPECT_EQ(copy({"--backend", "nosuch", image_, dir_ / "out2"}).exit_code, 1);
}

}  // namespace
}  // namespace nbdcrypt::test
