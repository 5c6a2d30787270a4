// SPDX-License-Identifier: Apache-2.0
//
// Every store call of every kind of request fails once: the client learns the errno, no byte that it did not ask to
// change is changed, and the same request succeeds afterwards.
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <tuple>

#include "tests/support/temp_dir.h"
#include "tests/volume/stores.h"
#include "tests/volume/system_calls.h"
#include "tests/volume/volumes.h"
#include "volume/file_store.h"

namespace nbdcrypt::test {
namespace {

constexpr std::size_t kVolumeBytes = 512 * 1024;

struct FaultCase {
  const char* name;
  std::uint64_t offset;
  std::size_t bytes;
  bool durable;
  int parts;             // what the request is cut into, with sectors of 512 as of 4096 bytes
  int parts_of_sectors;  // of these; each is read before it is written
};

const FaultCase kCases[] = {
    {"inside_a_sector", 100, 50, false, 1, 1},    {"one_sector", 4096, 4096, false, 1, 0},
    {"head_body_tail", 1000, 20000, false, 3, 2}, {"several_chunks", 1000, 410'000, false, 6, 2},
    {"durable", 1000, 20000, true, 3, 2},
};

using Parameters = std::tuple<VolumeKind, FaultCase>;

class VolumeFault : public testing::TestWithParam<Parameters> {
 protected:
  void SetUp() override { volume_.write(0, model_); }

  int store_calls_of_a_write() const {
    return request().parts + request().parts_of_sectors + (request().durable ? 1 : 0);
  }
  const FaultCase& request() const { return std::get<1>(GetParam()); }
  Bytes part(const Bytes& of) const {
    const auto at = of.begin() + static_cast<std::ptrdiff_t>(request().offset);
    return Bytes(at, at + static_cast<std::ptrdiff_t>(request().bytes));
  }
  void put(Bytes& into, const Bytes& data) const {
    std::copy(data.begin(), data.end(), into.begin() + static_cast<std::ptrdiff_t>(request().offset));
  }

  /// Runs `action` with its n-th store call failing, for n = 1, 2, ... until none is left to fail; after each failure
  /// calls `after_failure`. Returns how many failed.
  int fail_each_call(const std::function<void()>& action, const std::function<void()>& after_failure) {
    for (int n = 1;; ++n) {
      const int os_error = n % 2 == 0 ? ENOSPC : EIO;
      store_.fail_call(n, os_error);
      const int seen = errno_of(action);
      if (!store_.failed()) {
        EXPECT_EQ(seen, -1);
        store_.fail_call(-1, 0);
        return n - 1;
      }
      EXPECT_EQ(seen, os_error) << "call " << n;
      after_failure();
    }
  }

  /// Outside the request everything is as in the model; inside, each byte is what it was or what it was to be.
  void expect_nothing_else_changed(const Bytes& wanted) {
    Bytes now = read(volume_, 0, kVolumeBytes);
    const Bytes inside = part(now), before = part(model_);
    int neither = 0;
    for (std::size_t i = 0; i < inside.size(); ++i) neither += inside[i] != before[i] && inside[i] != wanted[i];
    EXPECT_EQ(neither, 0);
    put(now, before);
    EXPECT_EQ(now, model_);
  }

  std::mt19937_64 random_{11};
  Bytes model_ = random_bytes(random_, kVolumeBytes);
  MemoryStore memory_{kVolumeBytes};
  std::unique_ptr<FaultStore> owned_ = std::make_unique<FaultStore>(memory_);
  FaultStore& store_ = *owned_;
  volume::Volume volume_ = volume_over(std::move(owned_), std::get<0>(GetParam()), {.allow_discards = true});
};

TEST_P(VolumeFault, Read) {
  Bytes out(request().bytes);
  const int failures = fail_each_call([&] { volume_.read(request().offset, out); }, [] {});
  EXPECT_EQ(failures, request().parts);
  EXPECT_EQ(out, part(model_));
  EXPECT_EQ(read(volume_, 0, kVolumeBytes), model_);
}

TEST_P(VolumeFault, Write) {
  const Bytes data = random_bytes(random_, request().bytes);
  const int failures = fail_each_call([&] { volume_.write(request().offset, data, request().durable); },
                                      [&] { expect_nothing_else_changed(data); });
  EXPECT_EQ(failures, store_calls_of_a_write());
  put(model_, data);
  EXPECT_EQ(read(volume_, 0, kVolumeBytes), model_);
  EXPECT_EQ(memory_.flushes, request().durable ? 1 : 0);
}

TEST_P(VolumeFault, Zero) {
  const Bytes zeros(request().bytes, 0);
  const int failures = fail_each_call([&] { volume_.zero(request().offset, request().bytes, request().durable); },
                                      [&] { expect_nothing_else_changed(zeros); });
  EXPECT_EQ(failures, store_calls_of_a_write());
  put(model_, zeros);
  EXPECT_EQ(read(volume_, 0, kVolumeBytes), model_);
}

TEST_P(VolumeFault, Trim) {
  const auto expect_the_rest_unchanged = [&] {
    Bytes now = read(volume_, 0, kVolumeBytes);
    put(now, part(model_));
    EXPECT_EQ(now, model_);
  };
  const bool any_whole_sector = request().parts > request().parts_of_sectors;
  const int failures = fail_each_call([&] { volume_.trim(request().offset, request().bytes, request().durable); },
                                      expect_the_rest_unchanged);
  EXPECT_EQ(failures, (any_whole_sector ? 1 : 0) + (request().durable ? 1 : 0));
  expect_the_rest_unchanged();
}

std::string name_of_case(const testing::TestParamInfo<Parameters>& info) {
  const VolumeKind& kind = std::get<0>(info.param);
  return std::string(kind.cipher).substr(4, 3) + "_" + std::to_string(kind.sector_bytes) + "_" +
         std::get<1>(info.param).name;
}

INSTANTIATE_TEST_SUITE_P(All, VolumeFault, testing::Combine(testing::ValuesIn(kVolumeKinds), testing::ValuesIn(kCases)),
                         name_of_case);

TEST(VolumeFlush, FailureIsLatchedForDurableWritesToo) {
  const TempDir dir;
  auto store = std::make_unique<volume::FileStore>(dir.sparse("disk.img", 64 * 1024), volume::Access::read_write);
  volume::Volume volume = volume_over(std::move(store), kVolumeKinds[0]);
  system_calls.reset();
  volume.write(0, Bytes(4096, 1), true);
  system_calls.fdatasync_error = EIO;
  EXPECT_EQ(errno_of([&] { volume.write(100, Bytes(5000, 2), true); }), EIO);
  system_calls.reset();
  EXPECT_EQ(errno_of([&] { volume.flush(); }), EIO);
  EXPECT_EQ(errno_of([&] { volume.zero(0, 1, true); }), EIO);
  EXPECT_EQ(read(volume, 100, 5000), Bytes(5000, 2));
  EXPECT_NO_THROW(volume.write(0, Bytes(10, 3)));
}

TEST(VolumeRead, ImageCutShortIsAnErrorWhereItIsMissingAlone) {
  const TempDir dir;
  const std::string path = dir.sparse("disk.img", 64 * 1024);
  volume::Volume volume = volume_over(std::make_unique<volume::FileStore>(path, volume::Access::read_write),
                                      VolumeKind{"aes-cbc-essiv:sha256", 4096});
  volume.write(0, Bytes(64 * 1024, 7));
  std::filesystem::resize_file(path, 10000);
  EXPECT_EQ(read(volume, 0, 8192), Bytes(8192, 7));
  EXPECT_EQ(errno_of([&] { read(volume, 8192, 1); }), EIO);
  EXPECT_EQ(errno_of([&] { volume.write(9000, Bytes(1)); }), EIO);  // read-modify-write
  EXPECT_EQ(std::filesystem::file_size(path), 10000u);
}

}  // namespace
}  // namespace nbdcrypt::test
