// SPDX-License-Identifier: Apache-2.0
#include "tests/interop/images.h"

#include <filesystem>

#include "tests/support/process.h"
#include "tests/support/requires.h"

namespace nbdcrypt::test {
namespace {

ForeignImage opens(const std::string& archive, const std::string& key, const std::string& member = {}) {
  return {.archive = archive, .member = member, .key = key};
}

ForeignImage in_slot(ForeignImage image, int key_slot) {
  image.key_slot = key_slot;
  return image;
}

ForeignImage luks1(const std::string& cipher, const std::string& uuid) {
  ForeignImage image = opens("luks1-images.tar.xz", "@keyfile1", "luks1_" + cipher + ".img");
  image.uuid = uuid;
  return image;
}

// The passphrase may be right; it is the volume that cannot be used.
ForeignImage refused(ForeignImage image, int test_exit, const std::string& why, int dump_exit = 0) {
  image.test_exit = test_exit;
  image.open_exit = 1;
  image.refusal = why;
  image.dump_exit = dump_exit;
  return image;
}

std::vector<ForeignImage> list() {
  const std::string slot_0 = "compatkey", slot_1 = "93R4P4pIqAH8";
  // cryptsetup agrees that this passphrase is not that of slot 1.
  ForeignImage other_passphrase = in_slot(opens("compatimage2.img.xz", "compatkey"), 1);
  other_passphrase.test_exit = other_passphrase.open_exit = 2;
  other_passphrase.refusal = "key slot 1";
  ForeignImage header_alone = opens("luks2_header_requirements.tar.xz", "blablabl", "luks2_header_requirements_free");
  header_alone.data_bytes = 1 << 20;
  ForeignImage unbound = in_slot(opens("luks2_keyslot_unassigned.img.xz", slot_1), 1);
  std::vector<ForeignImage> all = {
      opens("compatimage.img.xz", "compatkey"),
      opens("compatv10image.img.xz", "compatkey"),
      in_slot(opens("compatimage2.img.xz", "compatkey"), 0),
      other_passphrase,
      opens("luks2_keyslot_unassigned.img.xz", slot_0),
      refused(unbound, 0, "slot 1"),
      refused(opens("luks2_invalid_cipher.img.xz", slot_1), 0, "capi:"),
      refused(opens("luks2_header_requirements.tar.xz", "blablabl", "luks2_header_requirements"), 0, "requirement"),
      header_alone,
      refused(opens("blkid-luks2-pv.img.xz", "any"), 1, "", 1),
      luks1("aes-cbc-essiv-sha256-sha1", "DEAD-BABE"),
      luks1("aes-xts-plain64-sha1", "DEAD-BABE"),
      luks1("aes-xts-plain64-whirlpool", "DEAD-BABE"),
      refused(luks1("serpent-xts-plain64-sha1", ""), 1, "serpent"),
      refused(luks1("twofish-xts-plain64-sha256", ""), 1, "twofish")};
  for (const char* kib : {"16", "32", "64", "128", "256", "512", "1024", "2048", "4096"}) {
    all.push_back(opens("luks2_mda_images.tar.xz", "Qx3qn46vq0v", std::string("test_image_") + kib));
  }
  for (const char* fault :
       {"keyslot_overlap", "luks_hdr_damage", "payload_overwrite", "small_luks_device", "stripes_payload_dmg"}) {
    all.push_back(refused(opens(std::string("evil_hdr-") + fault + ".xz", "any"), 1, "", 1));
  }
  return all;
}

}  // namespace

std::string ForeignImage::name() const {
  std::string text = member.empty() ? archive.substr(0, archive.find('.')) : member.substr(0, member.find('.'));
  return key_slot < 0 ? text : text + "_slot_" + std::to_string(key_slot);
}

const std::vector<ForeignImage>& foreign_images() {
  static const std::vector<ForeignImage> all = list();
  return all;
}

UnpackedImage::UnpackedImage(const ForeignImage& image) {
  const std::string archive = images_dir() + "/" + image.archive;
  if (image.member.empty()) {
    path_ = dir_.file("image", check({"xz", "-dc", archive}));
  } else {
    check({"tar", "-xJf", archive, "--no-same-owner", "-C", dir_.path()});
    path_ = dir_ / image.member;
  }
  if (image.data_bytes != 0) std::filesystem::resize_file(path_, std::filesystem::file_size(path_) + image.data_bytes);
  key_file_ = image.key.starts_with("@") ? dir_ / image.key.substr(1) : dir_.file("key", image.key);
}

}  // namespace nbdcrypt::test
