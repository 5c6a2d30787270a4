// SPDX-License-Identifier: Apache-2.0
#include "volume/header_copy.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace nbdcrypt::volume {
namespace {

constexpr std::size_t kChunkBytes = 64 * 1024;
constexpr std::string_view kFirstMagic("LUKS\xba\xbe", 6), kSecondMagic("SKUL\xba\xbe", 6);

/// Reads up to out.size() bytes, fewer only at the end.
std::size_t read_at(int fd, const std::string& name, std::uint64_t offset, std::span<Byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t n = pread(fd, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) base::throw_os_error(name + ": reading the header at byte " + std::to_string(offset), errno);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

void write_at(int fd, std::uint64_t offset, std::span<const Byte> in) {
  for (std::size_t done = 0; done < in.size();) {
    const ssize_t n = pwrite(fd, in.data() + done, in.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) base::throw_os_error("copying the header", n < 0 ? errno : EIO);
    done += static_cast<std::size_t>(n);
  }
}

/// Calls f(offset, bytes) for the pieces of a range.
template <class F>
void for_each_chunk(std::uint64_t offset, std::uint64_t bytes, F&& f) {
  for (std::uint64_t done = 0; done < bytes; done += kChunkBytes)
    f(offset + done, static_cast<std::size_t>(std::min<std::uint64_t>(bytes - done, kChunkBytes)));
}

bool all_zero(std::span<const Byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](Byte b) { return b == 0; });
}

bool has_magic(const HeaderCopy& copy, std::uint64_t offset, std::string_view magic) {
  Byte found[6];
  return copy.read(offset, found) == sizeof found &&
         std::equal(magic.begin(), magic.end(), found, [](char m, Byte f) { return static_cast<Byte>(m) == f; });
}

void clear(Store& store, std::uint64_t offset, std::uint64_t bytes) {
  const std::vector<Byte> zeros(kChunkBytes);
  for_each_chunk(offset, bytes, [&](std::uint64_t at, std::size_t n) { store.write(at, std::span(zeros).first(n)); });
}

void write_back(Store& store, const HeaderCopy& copy, std::uint64_t offset, std::uint64_t bytes) {
  std::vector<Byte> buffer(kChunkBytes);
  for_each_chunk(offset, bytes, [&](std::uint64_t at, std::size_t n) {
    const std::span<Byte> chunk = std::span(buffer).first(n);
    std::fill(chunk.begin() + static_cast<std::ptrdiff_t>(copy.read(at, chunk)), chunk.end(), Byte{0});
    store.write(at, chunk);
  });
}

}  // namespace

HeaderCopy::HeaderCopy(std::uint64_t bytes) : fd_(memfd_create("nbdcrypt-header", MFD_CLOEXEC)) {
  if (!fd_) base::throw_os_error("memory for a copy of the header", errno);
  if (ftruncate(fd_.get(), static_cast<off_t>(bytes)) != 0)
    base::throw_os_error("memory for a copy of the header", errno);
}

std::string HeaderCopy::path() const { return "/proc/self/fd/" + std::to_string(fd_.get()); }

std::uint64_t HeaderCopy::size() const { return size_of(fd_.get(), path()); }

void HeaderCopy::fetch(int device, const std::string& name, std::uint64_t offset, std::uint64_t bytes) {
  std::vector<Byte> buffer(kChunkBytes);
  for_each_chunk(offset, bytes, [&](std::uint64_t at, std::size_t n) {
    const auto got = std::span(buffer).first(read_at(device, name, at, std::span(buffer).first(n)));
    if (!all_zero(got)) write_at(fd_.get(), at, got);
  });
}

bool HeaderCopy::equals(int device, const std::string& name, std::uint64_t offset, std::uint64_t bytes) const {
  std::vector<Byte> ours(kChunkBytes), theirs(kChunkBytes);
  bool equal = true;
  for_each_chunk(offset, bytes, [&](std::uint64_t at, std::size_t n) {
    const auto a = std::span(ours).first(read(at, std::span(ours).first(n)));
    const auto b = std::span(theirs).first(read_at(device, name, at, std::span(theirs).first(n)));
    equal = equal && std::equal(a.begin(), a.end(), b.begin(), b.end());
  });
  return equal;
}

std::size_t HeaderCopy::read(std::uint64_t offset, std::span<Byte> out) const {
  return read_at(fd_.get(), "copy of the header", offset, out);
}

Magic magic_of(const HeaderCopy& copy) {
  if (has_magic(copy, 0, kFirstMagic)) {
    Byte version[2] = {};
    copy.read(kFirstMagic.size(), version);
    return base::load_be<std::uint16_t>(version) == 1 ? Magic::luks1 : Magic::luks2;
  }
  for (const std::uint64_t offset : kLuks2CopyBytes)
    if (has_magic(copy, offset, kSecondMagic)) return Magic::luks2_second_copy;
  return Magic::none;
}

void write_new_header(Store& store, const HeaderCopy& copy, const HeaderExtent& extent) {
  const std::uint64_t metadata_bytes = extent.copies * extent.copy_bytes;
  clear(store, 0, metadata_bytes);
  write_back(store, copy, metadata_bytes, extent.header_bytes - metadata_bytes);
  if (extent.cleared_bytes > extent.header_bytes)
    clear(store, extent.header_bytes, extent.cleared_bytes - extent.header_bytes);
  store.flush();
  for (unsigned i = extent.copies; i-- > 0;) {
    write_back(store, copy, i * extent.copy_bytes, extent.copy_bytes);
    store.flush();
  }
}

}  // namespace nbdcrypt::volume
