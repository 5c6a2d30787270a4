// SPDX-License-Identifier: Apache-2.0
#include "cli/filesystem.h"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <sstream>

#include "base/error.h"
#include "cli/attach.h"
#include "cli/partition.h"
#include "cli/process.h"

namespace nbdcrypt::cli {
namespace {

using base::Error;
using base::Kind;
using namespace std::chrono_literals;

constexpr auto kWritePatience = 300s;  // a file system in user space writes back all it has when it is unmounted

struct Found {
  std::string type;               // of the file system; empty: none
  std::string table;              // the type of the partition table; empty: none
  std::uint32_t block_bytes = 0;  // the smallest block that the file system reads or writes; 0: unknown
};

Found found_by(const std::string& blkid_export) {
  Found found;
  std::istringstream lines(blkid_export);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("TYPE=")) found.type = line.substr(5);
    if (line.starts_with("PTTYPE=")) found.table = line.substr(7);
    if (line.starts_with("BLOCK_SIZE=")) found.block_bytes = static_cast<std::uint32_t>(std::stoul(line.substr(11)));
  }
  return found;
}

Found probe(const std::string& device, const Window& window = {}) {
  Program blkid{.argv = {"blkid", "-p", "-o", "export", "-O", std::to_string(window.offset_bytes)}};
  if (window.bytes != 0) blkid.argv.insert(blkid.argv.end(), {"-S", std::to_string(window.bytes)});
  blkid.argv.push_back(device);
  const Outcome outcome = run(blkid);
  if (outcome.exit_code == 8)
    throw Error(Kind::format, "more than one file system found", 0, "say which: --fstype TYPE");
  return found_by(outcome.out);
}

[[noreturn]] void throw_partitioned(const std::string& table, const std::vector<Partition>& partitions) {
  throw Error(Kind::usage, "a partition table (" + table + ") and no file system; partitions: " + list_of(partitions),
              0, "say which: --partition N");
}

[[noreturn]] void throw_empty() {
  throw Error(Kind::format, "no file system found in the volume", 0, "nbdcrypt open attaches it, to make one in it");
}

// ---- root ----

// A block device over all of the volume, while it lives: partition tables count in sectors, and a file has none.
class WholeDevice {
 public:
  WholeDevice(const std::string& device, const State& state)
      : is_loop_(!is_block_device(state.attachment)),
        path_(is_loop_ ? attach_loop(device, {.sector_bytes = state.sector_bytes, .read_only = true}) : device) {}
  WholeDevice(const WholeDevice&) = delete;
  WholeDevice& operator=(const WholeDevice&) = delete;
  ~WholeDevice() {
    if (is_loop_) detach_loop(path_);
  }
  const std::string& path() const noexcept { return path_; }

 private:
  bool is_loop_;
  std::string path_;
};

Window window_of(const std::string& device, const State& state, std::optional<std::uint32_t> number) {
  if (!number) return {};
  const Partition partition = find_partition(WholeDevice(device, state).path(), *number);
  return {partition.offset_bytes, partition.bytes};
}

void refuse_partitioned(const std::string& device, const State& state) {
  const WholeDevice whole(device, state);
  if (const Found found = probe(whole.path()); !found.table.empty())
    throw_partitioned(found.table, partitions_on(whole.path()));
}

// A file system that was made on the file NAME/dev may have blocks smaller than the volume's sectors. The kernel would
// not mount it from a device of such sectors; the server takes any size.
std::uint32_t fitting_sector_bytes(const State& state, const Found& found) {
  return found.block_bytes >= 512 ? std::min(state.sector_bytes, found.block_bytes) : state.sector_bytes;
}

// What mount(8) is given: /dev/nbdN itself where that will do, else a loop device.
std::string source_for(const std::string& device, const State& state, const LoopOptions& loop) {
  const bool is_device = is_block_device(state.attachment);
  const bool sectors_fit = loop.sector_bytes == state.sector_bytes;
  if (is_device && sectors_fit && loop.window.bytes == 0) return device;
  LoopOptions options = loop;
  options.direct_io = !is_device || sectors_fit;  // direct I/O to a block device must be in its own sectors
  return attach_loop(device, options);
}

void mount_by_kernel(const Entry& entry, const State& state, const MountRequest& request) {
  const std::string device = device_of(entry, state);
  const bool read_only = request.read_only || state.read_only;
  const Window window = window_of(device, state, request.partition);
  const Found found = probe(device, window);
  if (request.type.empty() && found.type.empty()) {
    if (!request.partition) refuse_partitioned(device, state);
    throw_empty();
  }
  const LoopOptions loop{.sector_bytes = fitting_sector_bytes(state, found), .read_only = read_only, .window = window};
  const std::string source = source_for(device, state, loop);
  Program mount{.argv = {"mount", "-t", request.type.empty() ? found.type : request.type}};
  if (read_only) mount.argv.emplace_back("-r");
  if (!request.options.empty()) mount.argv.insert(mount.argv.end(), {"-o", request.options});
  mount.argv.insert(mount.argv.end(), {"--", source, request.directory});
  run_or_throw(mount);
}

// ---- everybody else ----

// fuse2fs alone: ntfs-3g is setuid root, and root may not look into a user's FUSE file; exfat-fuse insists on
// allow_other.
constexpr const char* kUserFileSystem = "fuse2fs";

void require_user_file_system(const std::string& type) {
  if (type != "ext2" && type != "ext3" && type != "ext4") {
    throw Error(Kind::unsupported, type + ": can be mounted by root only; without root: ext2, ext3, ext4");
  }
  if (find_program(kUserFileSystem).empty()) {
    throw Error(Kind::device,
                std::string(kUserFileSystem) + ": no such program; without root it is what mounts " + type);
  }
}

std::string type_for_user(const std::string& device) {
  const Found found = probe(device);
  if (!found.type.empty()) return found.type;
  if (!found.table.empty()) throw_partitioned(found.table, partitions_on(device));
  throw_empty();
}

void mount_by_user(const Entry& entry, const State& state, const MountRequest& request) {
  if (request.partition) throw Error(Kind::unsupported, "--partition: for root only");
  const std::string device = device_of(entry, state);
  require_user_file_system(request.type.empty() ? type_for_user(device) : request.type);
  std::string options = "fakeroot";  // the files may belong to others than us
  if (request.read_only || state.read_only) options += ",ro";
  if (!request.options.empty()) options += "," + request.options;
  const volume::FileDescriptor lock = entry.lock_for(Role::filesystem);
  run_or_throw({.argv = {kUserFileSystem, device, request.directory, "-o", options},
                .inherit = {lock.get()},
                .own_session = true});
}

// ---- unmount ----

Outcome umount(const Mount& mount, bool lazy) {
  Program program{.argv = {}, .own_session = true, .interruptible = false};
  if (geteuid() == 0)
    program.argv = {"umount", lazy ? "-l" : "--", mount.target};
  else
    program.argv = {"fusermount3", lazy ? "-uz" : "-u", mount.target};
  return run(program);
}

}  // namespace

void mount_inside(const Entry& entry, State& state, const MountRequest& request) {
  if (state.attachment == Attachment::none)
    throw Error(Kind::device, "nothing to mount: the volume is served, but not attached");
  state.mount_point = request.directory;
  entry.write(state);
  if (geteuid() == 0)
    mount_by_kernel(entry, state, request);
  else
    mount_by_user(entry, state, request);
}

std::vector<Mount> mounts_from(const std::string& device) {
  std::vector<std::string> sources = loops_over(device);
  sources.push_back(device);
  const auto is_inside = [&](const Mount& mount) {
    return std::any_of(sources.begin(), sources.end(), [&](const std::string& s) {
      return mount.source == s || (s.starts_with("/dev/") && mount.source.starts_with(s + "p"));  // its partitions
    });
  };
  std::vector<Mount> mounts = mount_table();
  std::erase_if(mounts, [&](const Mount& mount) { return !is_inside(mount); });
  return mounts;
}

void unmount(const Entry& entry, const Mount& mount) {
  const Outcome outcome = umount(mount, false);
  if (!outcome.ok()) throw Error(Kind::busy, outcome.complaint_of(geteuid() == 0 ? "umount" : "fusermount3"));
  if (!entry.wait_for_end(Role::filesystem, kWritePatience))
    throw Error(Kind::io, mount.target + ": its file system does not end");
}

void force_unmount(const Entry& entry, const Mount& mount) noexcept {
  try {
    if (!umount(mount, false).ok()) umount(mount, true);
    entry.wait_for_end(Role::filesystem, 10s);
  } catch (const std::exception&) {  // nothing more can be done
  }
}

}  // namespace nbdcrypt::cli
