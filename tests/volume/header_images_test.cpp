// SPDX-License-Identifier: Apache-2.0
//
// Foreign volumes: made by old and other versions of cryptsetup, or crafted to do harm. See the folder's MANIFEST.
#include <gmock/gmock.h>

#include "tests/volume/luks_fixtures.h"

namespace nbdcrypt::test {
namespace {

using base::Kind;
using testing::HasSubstr;
using volume::OpenOptions;
using volume::Type;
using volume::Unlocked;

class ForeignImages : public testing::Test {
 protected:
  void SetUp() override {
    NBDCRYPT_REQUIRE_IMAGES();
    NBDCRYPT_REQUIRE_TOOL("xz");
  }
  /// Everything that is done with an image leaves its bytes alone.
  void TearDown() override {
    for (const auto& [path, sum] : sums_) EXPECT_EQ(sha256_of(path), sum) << path;
  }
  std::string watched(const std::string& path) {
    sums_[path] = sha256_of(path);
    return path;
  }
  std::string image(const std::string& name) { return watched(unpack_image(dir_, name)); }

  static OpenOptions options(const std::string& path) { return {.image = path, .read_only = true}; }
  static Unlocked unlock(const std::string& path, const std::string& secret, int key_slot = -1) {
    OpenOptions with_slot = options(path);
    with_slot.key_slot = key_slot;
    return volume::unlock(with_slot, credential(secret));
  }
  /// The plaintext's first bytes, through the whole way of opening.
  std::string plaintext(const std::string& path, const volume::Credential& secret) {
    const auto opened = volume::open_volume(options(path), volume::unlock(options(path), secret));
    std::string bytes(std::min<std::uint64_t>(opened->size(), 8 * kMiB), '\0');
    opened->read(0, {reinterpret_cast<base::Byte*>(bytes.data()), bytes.size()});
    return bytes;
  }
  std::string file_system_uuid(const std::string& bytes) {
    return run({"blkid", "-p", "-o", "value", "-s", "UUID", dir_.file("plaintext", bytes)}).out;
  }

  TempDir dir_;

 private:
  std::map<std::string, std::string> sums_;
};

TEST_F(ForeignImages, Luks1OfOldAndNewCryptsetupOpens) {
  const Unlocked current = unlock(image("compatimage.img"), "compatkey");
  EXPECT_EQ(current.segment.cipher.text(), "aes-cbc-essiv:sha256");
  EXPECT_EQ(current.volume_key.size(), 16u);
  EXPECT_EQ(current.segment.store_offset, 1032u * 512);
  const Unlocked old = unlock(image("compatv10image.img"), "compatkey");
  EXPECT_EQ(old.segment.cipher.text(), "aes-cbc-plain");
  EXPECT_EQ(old.segment.store_offset, 1010u * 512);
  EXPECT_EQ(error_of([&] { unlock(dir_ / "compatimage.img", "compatkey2"); }).kind(), Kind::passphrase);
}

TEST_F(ForeignImages, Luks2OpensWithPbkdf2AndAsksArgon2AsCryptsetupDoes) {
  NBDCRYPT_REQUIRE_TOOL("cryptsetup");
  const std::string path = image("compatimage2.img");
  const Unlocked pbkdf2 = unlock(path, "compatkey", 0);
  EXPECT_EQ(pbkdf2.key_slot, 0);
  EXPECT_EQ(pbkdf2.segment.store_offset, 4 * kMiB);
  // Slot 1 is argon2id; whether this passphrase is its, the library that made it says.
  if (cryptsetup_opens(path, "compatkey", {"--key-slot", "1"}) == 0) {
    EXPECT_EQ(text_of(unlock(path, "compatkey", 1).volume_key), text_of(pbkdf2.volume_key));
  } else {
    EXPECT_EQ(error_of([&] { unlock(path, "compatkey", 1); }).kind(), Kind::passphrase);
  }
}

TEST_F(ForeignImages, AnUnboundSlotDoesNotOpenTheVolume) {
  const std::string path = image("luks2_keyslot_unassigned.img");
  EXPECT_EQ(unlock(path, "compatkey").key_slot, 0);
  EXPECT_EQ(error_of([&] { unlock(path, "93R4P4pIqAH8"); }).kind(), Kind::passphrase);
  const base::Error named = error_of([&] { unlock(path, "93R4P4pIqAH8", 1); });
  EXPECT_EQ(named.kind(), Kind::unsupported);
  EXPECT_THAT(named.what(), HasSubstr("key slot 1 is unbound"));
}

TEST_F(ForeignImages, AnUnboundSlotTestsAsWithCryptsetup) {
  NBDCRYPT_REQUIRE_TOOL("cryptsetup");
  const std::string path = image("luks2_keyslot_unassigned.img");
  for (const std::string secret : {"compatkey", "93R4P4pIqAH8"}) {
    for (const int slot : {-1, 0, 1, 5}) {
      OpenOptions with_slot = options(path);
      with_slot.key_slot = slot;
      int ours = 0;
      try {
        volume::test_passphrase(with_slot, credential(secret));
      } catch (const base::Error& error) { ours = base::exit_code(error.kind()); }
      const Args named = slot < 0 ? Args{} : Args{"--key-slot", std::to_string(slot)};
      EXPECT_EQ(ours, cryptsetup_opens(path, secret, named)) << secret << " in slot " << slot;
    }
  }
}

TEST_F(ForeignImages, TheKernelsSpellingOfACipherIsRefusedByName) {
  const std::string path = image("luks2_invalid_cipher.img");
  const base::Error error = error_of([&] { unlock(path, "93R4P4pIqAH8"); });
  EXPECT_EQ(error.kind(), Kind::unsupported);
  EXPECT_THAT(error.what(), HasSubstr("capi:xts(ecb(aes-generic))-plain64"));
  EXPECT_EQ(volume::test_passphrase(options(path), credential("93R4P4pIqAH8")), 0);
  EXPECT_THAT(volume::Header::load(path, {}, Type::detect).dump_text(), HasSubstr("capi:"));
}

TEST_F(ForeignImages, UnknownRequirementsForbidOpeningAlone) {
  unpack_archive(dir_, "luks2_header_requirements.tar.xz");
  const std::string path = watched(dir_ / "luks2_header_requirements");
  const base::Error error = error_of([&] { unlock(path, "blablabl"); });
  EXPECT_EQ(error.kind(), Kind::unsupported);
  EXPECT_THAT(error.what(), HasSubstr("the header requires "));
  EXPECT_GE(volume::test_passphrase(options(path), credential("blablabl")), 0);
  EXPECT_FALSE(volume::Header::load(path, {}, Type::detect).dump_text().empty());
}

TEST_F(ForeignImages, WithoutTheRequirementsTheHeaderOpens) {
  unpack_archive(dir_, "luks2_header_requirements.tar.xz");
  const std::string header = watched(dir_ / "luks2_header_requirements_free");
  // The image ends where its header does, so the data is given apart.
  OpenOptions apart = options(dir_.sparse("data", 8 * kMiB));
  apart.header = header;
  EXPECT_GE(volume::unlock(apart, credential("blablabl")).key_slot, 0);
}

TEST_F(ForeignImages, AllSizesOfMetadataOpen) {
  unpack_archive(dir_, "luks2_mda_images.tar.xz");
  for (const char* kib : {"16", "32", "64", "128", "256", "512", "1024", "2048", "4096"}) {
    const std::string path = watched(dir_ / (std::string("test_image_") + kib));
    EXPECT_GE(volume::test_passphrase(options(path), credential("Qx3qn46vq0v")), 0) << kib;
    EXPECT_THAT(volume::Header::load(path, {}, Type::luks2).dump_text(),
                HasSubstr("Metadata area: \t" + std::to_string(std::stoull(kib) * 1024)));
  }
}

TEST_F(ForeignImages, AHeaderWithAnUnknownKdfDumps) {
  const std::string path = image("luks2_valid_hdr.img");
  EXPECT_THAT(volume::Header::load(path, {}, Type::detect).dump_text(), HasSubstr("PBKDF:      argon2\n"));
  EXPECT_NE(base::exit_code(error_of([&] { unlock(path, "any"); }).kind()), 0);
}

TEST_F(ForeignImages, AnLvmVolumeOverAnOldHeaderIsNotTakenForLuks) {
  const std::string path = image("blkid-luks2-pv.img");
  const base::Error error = error_of([&] { volume::Header::load(path, {}, Type::detect); });
  EXPECT_EQ(error.kind(), Kind::format);
  EXPECT_THAT(error.what(), HasSubstr("holds a LVM2_member volume"));
}

TEST_F(ForeignImages, CraftedLuks1HeadersAreRefused) {
  for (const char* name :
       {"keyslot_overlap", "luks_hdr_damage", "payload_overwrite", "small_luks_device", "stripes_payload_dmg"}) {
    const std::string path = image(std::string("evil_hdr-") + name);
    const base::Error error = error_of([&] { volume::Header::load(path, {}, Type::detect); });
    EXPECT_EQ(error.kind(), Kind::format) << name;
    EXPECT_THAT(error.what(), HasSubstr("damaged LUKS header: ")) << name;
  }
}

TEST_F(ForeignImages, ALuks1HeaderFileDumps) {
  EXPECT_THAT(volume::Header::load(image("valid_header_file"), {}, Type::luks1).dump_text(),
              HasSubstr("Version:       \t1\n"));
}

TEST_F(ForeignImages, Luks1WithAesShowsItsFileSystem) {
  unpack_archive(dir_, "luks1-images.tar.xz");
  const volume::Credential key{volume::SecretKind::key_file, volume::read_key_file(dir_ / "keyfile1")};
  for (const char* name :
       {"luks1_aes-cbc-essiv-sha256-sha1.img", "luks1_aes-xts-plain64-sha1.img", "luks1_aes-xts-plain64-whirlpool.img"})
    EXPECT_EQ(file_system_uuid(plaintext(watched(dir_ / name), key)), "DEAD-BABE\n") << name;
}

TEST_F(ForeignImages, Luks1WithOtherCiphersIsRefusedByTheirNames) {
  unpack_archive(dir_, "luks1-images.tar.xz");
  const volume::Credential key{volume::SecretKind::key_file, volume::read_key_file(dir_ / "keyfile1")};
  for (const std::string cipher : {"twofish-xts-plain64-sha256", "serpent-xts-plain64-sha1"}) {
    const std::string path = watched(dir_ / ("luks1_" + cipher + ".img"));
    const base::Error error = error_of([&] { volume::unlock(options(path), key); });
    EXPECT_EQ(error.kind(), Kind::unsupported) << cipher;
    EXPECT_THAT(error.what(), HasSubstr(cipher.substr(0, 7))) << cipher;
  }
}

}  // namespace
}  // namespace nbdcrypt::test
