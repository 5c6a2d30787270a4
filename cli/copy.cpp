// SPDX-License-Identifier: Apache-2.0
//
// copy: the plaintext of a volume to a raw file or an NBD export, or with --encrypt the other way. The volume is always
// a local image and always named by its place: the first argument, with --encrypt the second. Nothing is guessed from
// content.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>

#include "base/error.h"
#include "base/pipeline.h"
#include "cli/add_options.h"
#include "cli/command.h"
#include "cli/endpoint.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/volume_options.h"

namespace nbdcrypt::cli {
namespace {

using base::Error;
using base::Kind;
using volume::Access;

constexpr std::size_t kTransferBytes = 1 << 20;
constexpr std::size_t kTransfers = 8;  // under way at once; in a ring, half of them being read, half being written
constexpr std::size_t kReadAhead = kTransfers / 2;

void add_options(po::options_description& options) {
  add_flag(options, "encrypt", "IN is the plaintext, OUT the volume (default: IN is the volume)");
  add_volume_options(options);
}

std::optional<struct stat> status_of(const std::string& path) {
  struct stat status;
  if (is_nbd_uri(path)) return std::nullopt;
  if (stat(path.c_str(), &status) == 0) return status;
  if (errno != ENOENT) base::throw_open_error(path, errno);
  return std::nullopt;
}

// The same file under any two names, or the same device through any two nodes.
bool same_object(const std::string& a, const std::string& b) {
  const auto one = status_of(a), other = status_of(b);
  if (!one || !other) return false;
  if (S_ISBLK(one->st_mode) && S_ISBLK(other->st_mode)) return one->st_rdev == other->st_rdev;
  return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

void refuse_same(const std::string& raw, const volume::OpenOptions& options) {
  if (same_object(raw, options.image)) throw Error(Kind::usage, raw + ": input and output are the same");
  if (options.header && same_object(raw, *options.header))
    throw Error(Kind::usage, raw + ": is the header of " + options.image);
}

void refuse_vain_options(const Arguments& arguments, bool encrypt) {
  if (arguments.flag("allow-discards")) throw Error(Kind::usage, "copy: option --allow-discards: nothing is discarded");
  if (encrypt && arguments.flag("readonly")) throw Error(Kind::usage, "copy: option --readonly contradicts --encrypt");
}

void check_sizes(const Endpoint& in, const Endpoint& out) {
  if (in.size() == out.size()) return;
  const bool small = out.size() < in.size();
  throw Error(Kind::usage,
              fmt::format("{} holds {} bytes, {} {}: {} bytes too {}", in.name(), in.size(), out.name(), out.size(),
                          small ? in.size() - out.size() : out.size() - in.size(), small ? "small" : "large"));
}

std::unique_ptr<Endpoint> open_source(const std::string& name) {
  return is_nbd_uri(name) ? open_nbd(name, Access::read_only) : open_raw(name, Access::read_only);
}

std::unique_ptr<Endpoint> open_target(const std::string& name, std::uint64_t bytes) {
  if (is_nbd_uri(name)) return open_nbd(name, Access::read_write);
  return status_of(name) ? open_raw(name, Access::read_write) : create_raw(name, bytes);
}

// Both sides local: several threads read a chunk and write it. In the order of the chunks are the progress, and which
// error is told when there are more.
void copy_files(Endpoint& in, Endpoint& out, bool quiet) {
  const std::uint64_t total = in.size();
  Progress progress("copy", total, quiet);
  const auto size_of = [&](std::uint64_t offset) {
    return static_cast<std::size_t>(std::min<std::uint64_t>(kTransferBytes, total - offset));
  };
  base::Pipeline<std::uint64_t> pipeline(
      {.workers = std::clamp<unsigned>(std::thread::hardware_concurrency(), 1, kTransfers),
       .batch = 1,
       .batches = kTransfers},
      [&](std::uint64_t offset) {
        thread_local Transfer transfer{.buffer = std::vector<base::Byte>(kTransferBytes)};
        transfer.offset = offset, transfer.bytes = size_of(offset);
        in.end_read(transfer);
        out.begin_write(transfer);
      },
      [&](std::uint64_t, std::uint64_t offset, const std::exception_ptr& error) {
        if (error) std::rethrow_exception(error);
        progress.update(offset + size_of(offset));
      });
  for (std::uint64_t offset = 0; offset < total; offset += kTransferBytes) {
    Interrupts::check();
    in.prefetch(offset, size_of(offset));
    if (!pipeline.submit(offset)) break;  // drain() says why
  }
  pipeline.drain();
}

// A ring of buffers: step n begins to read chunk n, and hands chunk n - kReadAhead from its read to its write.
void copy_in_ring(Endpoint& in, Endpoint& out, bool quiet) {
  const std::uint64_t total = in.size(), chunks = (total + kTransferBytes - 1) / kTransferBytes;
  std::array<Transfer, kTransfers> ring;
  for (Transfer& transfer : ring) transfer.buffer.resize(kTransferBytes);
  Progress progress("copy", total, quiet);
  for (std::uint64_t step = 0; step < chunks + kTransfers; ++step) {
    Interrupts::check();
    Transfer& next = ring[step % kTransfers];
    if (step >= kTransfers) out.end_write(next);  // of chunk step - kTransfers
    if (step < chunks) {
      next.offset = step * kTransferBytes;
      next.bytes = static_cast<std::size_t>(std::min<std::uint64_t>(kTransferBytes, total - next.offset));
      in.begin_read(next);
    }
    if (step < kReadAhead || step - kReadAhead >= chunks) continue;
    Transfer& ready = ring[(step - kReadAhead) % kTransfers];
    in.end_read(ready);
    out.begin_write(ready);
    progress.update(ready.offset + ready.bytes);
  }
}

int run(const Arguments& arguments) {
  const bool encrypt = arguments.flag("encrypt");
  refuse_vain_options(arguments, encrypt);
  const std::string &image = arguments.positional[encrypt ? 1 : 0], &raw = arguments.positional[encrypt ? 0 : 1];
  if (is_nbd_uri(image)) throw Error(Kind::unsupported, image + ": the volume must be a local image");
  volume::OpenOptions options = volume_options(arguments, image);
  options.read_only = !encrypt;
  refuse_same(raw, options);

  // The plaintext's side comes first where it is there already: no passphrase is asked for in vain.
  std::unique_ptr<Endpoint> plain = encrypt ? open_source(raw) : nullptr;
  const volume::Unlocked unlocked = unlock_volume(arguments, options);
  const std::unique_ptr<Endpoint> encrypted = open_plaintext(volume::open_volume(options, unlocked));
  const Interrupts interrupts;
  if (!plain) plain = open_target(raw, encrypted->size());
  Endpoint &in = encrypt ? *plain : *encrypted, &out = encrypt ? *encrypted : *plain;
  check_sizes(in, out);
  (in.is_local() && out.is_local() ? copy_files : copy_in_ring)(in, out, arguments.flag("batch-mode"));
  out.finish();
  return 0;
}

}  // namespace

Command copy_command() {
  return {"copy", {}, "IN OUT",    "copy the plaintext of a volume out of it, or into it with --encrypt",
          2,      2,  add_options, run};
}

}  // namespace nbdcrypt::cli
