// SPDX-License-Identifier: Apache-2.0
//
// Read-only service: asked for with nbdkit's -r, with readonly=true, or because the image allows nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>

#include "tests/plugin/images.h"
#include "tests/support/requires.h"
#include "tests/support/server.h"

namespace nbdcrypt::test {
namespace {

using testing::HasSubstr;

// libnbd itself would refuse writes to a read-only export; this asks the server.
void expect_no_writes(Client& client) {
  nbd_set_strict_mode(client.get(), 0);
  const Bytes data(512, 1);
  EXPECT_EQ(nbd_is_read_only(client.get()), 1);
  EXPECT_EQ(nbd_pwrite(client.get(), data.data(), data.size(), 0, 0), -1);
  EXPECT_EQ(nbd_get_errno(), EPERM);
  EXPECT_EQ(nbd_zero(client.get(), 512, 0, 0), -1);
  EXPECT_EQ(nbd_get_errno(), EPERM);
  EXPECT_EQ(nbd_trim(client.get(), 512, 0, 0), -1);
  Bytes read(512);
  EXPECT_NO_THROW(client.read(0, read));
}

TEST(PluginReadOnly, OptionROfNbdkitWritesNothing) {
  const TempDir dir;
  const std::string image = luks2(dir, kMiB), before = sha256_of_file(image);
  Server server({"file=" + image, "key-file=" + secret_file(dir), "allow-discards=true"}, {"-r"});
  {
    Client client = server.connect();
    expect_no_writes(client);
  }
  EXPECT_EQ(server.stop(), 0);
  EXPECT_EQ(sha256_of_file(image), before);
}

TEST(PluginReadOnly, ReadersShareAnImageAndKeepWritersOut) {
  const TempDir dir;
  const std::string image = luks2(dir, kMiB), secret = secret_file(dir);
  const Args reading{"file=" + image, "key-file=" + secret, "readonly=true"};
  const Server one(reading), two(reading);
  for (const Server* server : {&one, &two}) {
    Client client = server->connect();
    expect_no_writes(client);
  }
  const Result writer = nbdkit_once({"file=" + image, "key-file=" + secret});
  EXPECT_EQ(writer.exit_code, 1);
  EXPECT_THAT(writer.err, HasSubstr("in use by nbdkit"));
}

// An image that cannot be opened for writing: for root, on a read-only file system; for others, without the permission.
class ReadOnlyImage {
 public:
  explicit ReadOnlyImage(const TempDir& dir) {
    if (geteuid() == 0) {
      std::filesystem::create_directory(dir / "mnt");
      mounted_ = mount("tmpfs", (dir / "mnt").c_str(), "tmpfs", 0, "size=32m,mode=700") == 0 ? dir / "mnt" : "";
      if (mounted_.empty()) return;
    }
    const std::string made = luks2(dir, kMiB);
    path_ = mounted_.empty() ? made : mounted_ + "/image";
    if (!mounted_.empty()) std::filesystem::copy_file(made, path_);
    std::filesystem::permissions(path_, std::filesystem::perms::owner_read);
    if (!mounted_.empty()) mount(nullptr, mounted_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr);
  }
  ~ReadOnlyImage() {
    if (!mounted_.empty()) umount2(mounted_.c_str(), MNT_DETACH);
  }
  const std::string& path() const { return path_; }

 private:
  std::string mounted_, path_;
};

TEST(PluginReadOnly, ImageThatCannotBeWrittenIsServedWithAWarning) {
  const TempDir dir;
  const ReadOnlyImage image(dir);
  NBDCRYPT_REQUIRE(!image.path().empty(), "permission to mount");
  Server server({"file=" + image.path(), "key-file=" + secret_file(dir)}, {"-r"});
  {
    Client client = server.connect();
    expect_no_writes(client);
  }
  EXPECT_THAT(server.errors(), HasSubstr("warning: served read-only: " + image.path() + ": "));
  EXPECT_EQ(server.stop(), 0);
}

TEST(PluginReadOnly, ReadonlyTrueNeedsNoWarning) {
  const TempDir dir;
  const ReadOnlyImage image(dir);
  NBDCRYPT_REQUIRE(!image.path().empty(), "permission to mount");
  const Server server({"file=" + image.path(), "key-file=" + secret_file(dir), "readonly=true"});
  Client client = server.connect();
  expect_no_writes(client);
  EXPECT_EQ(server.errors().find("warning"), std::string::npos) << server.errors();
}

}  // namespace
}  // namespace nbdcrypt::test
