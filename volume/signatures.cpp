// SPDX-License-Identifier: Apache-2.0
#include "volume/signatures.h"

#include <blkid/blkid.h>

#include <cerrno>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "volume/file_store.h"

namespace nbdcrypt::volume {
namespace {

constexpr std::string_view kLuks = "crypto_LUKS";

struct ProbeCloser {
  void operator()(blkid_probe probe) const noexcept { blkid_free_probe(probe); }
};
using Probe = std::unique_ptr<std::remove_pointer_t<blkid_probe>, ProbeCloser>;

Probe probe_of(int fd, const std::string& name) {
  Probe probe(blkid_new_probe());
  if (!probe) throw base::Error(base::Kind::memory, name + ": no memory to look for signatures");
  errno = 0;
  if (blkid_probe_set_device(probe.get(), fd, 0, 0) != 0)
    base::throw_os_error(name + ": looking for signatures", errno ? errno : EIO);
  blkid_probe_enable_superblocks(probe.get(), 1);
  blkid_probe_set_superblocks_flags(probe.get(), BLKID_SUBLKS_TYPE | BLKID_SUBLKS_USAGE | BLKID_SUBLKS_MAGIC);
  blkid_probe_enable_partitions(probe.get(), 1);
  blkid_probe_set_partitions_flags(probe.get(), BLKID_PARTS_MAGIC);
  return probe;
}

/// Goes on to the next signature; false when there is none.
bool next(const Probe& probe, const std::string& name) {
  errno = 0;
  const int result = blkid_do_probe(probe.get());
  if (result < 0) base::throw_os_error(name + ": looking for signatures", errno ? errno : EIO);
  return result == 0;
}

std::string value(const Probe& probe, const char* key) {
  const char* data = nullptr;
  return blkid_probe_lookup_value(probe.get(), key, &data, nullptr) == 0 ? data : "";
}

std::string describe(const Probe& probe) {
  if (const std::string table = value(probe, "PTTYPE"); !table.empty()) return table + " partition table";
  const std::string usage = value(probe, "USAGE");
  const char* what = usage == "filesystem"                  ? " file system"
                     : usage == "raid" || usage == "crypto" ? " volume"
                                                            : " signature";
  return value(probe, "TYPE") + what;
}

}  // namespace

std::vector<std::string> signatures_on(const std::string& path) {
  const FileDescriptor fd = open_image(path, Access::read_only);
  std::vector<std::string> found;
  for (const Probe probe = probe_of(fd.get(), path); next(probe, path);) found.push_back(describe(probe));
  return found;
}

std::vector<std::string> foreign_signatures_on(const std::string& path) {
  std::vector<std::string> found = signatures_on(path);
  std::erase_if(found, [](const std::string& text) { return text.starts_with(kLuks); });
  return found;
}

void wipe_signatures(int fd, const std::string& name) {
  for (const Probe probe = probe_of(fd, name); next(probe, name);)
    if (blkid_do_wipe(probe.get(), 0) != 0) base::throw_os_error(name + ": wiping the " + describe(probe), errno);
}

}  // namespace nbdcrypt::volume
