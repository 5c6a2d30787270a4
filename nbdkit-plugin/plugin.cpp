// SPDX-License-Identifier: Apache-2.0
//
// The nbdkit plugin "crypt": callbacks in the order of their life, each a line or two over volume::Volume.
//
//   load -> config ... -> config_complete -> get_ready | fork | after_fork -> open ... pread, pwrite ... close ->
//   cleanup
//
// The secret is read in .config_complete, while standard input is still the user's; the volume is unlocked and opened
// in .get_ready, once per server, so that every error reaches the user before nbdkit goes into the background. Locked
// pages are not inherited by a child: .after_fork locks the keys again. Source: nbdkit-plugin(3), "Callback lifecycle".
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <string>

#include "base/error.h"
#include "nbdkit-plugin/config.h"
#include "nbdkit-plugin/guard.h"
#include "nbdkit-plugin/nbdkit.h"
#include "nbdkit-plugin/report.h"
#include "volume/open.h"

// Set by `nbdkit -D crypt.stats=1`, which finds it by its name.
extern "C" NBDKIT_DLL_PUBLIC int crypt_debug_stats;
int crypt_debug_stats = 0;

namespace nbdcrypt::plugin {
namespace {

// One server, one volume, shared by all connections.
struct Plugin {
  Config config;
  std::optional<volume::Credential> credential;  // between .config_complete and .get_ready
  std::unique_ptr<volume::Volume> volume;
  std::string description;
  bool warned_of_swap = false;
};
Plugin plugin;

// What differs between connections; nbdkit's `handle`.
struct Connection {
  bool read_only;
};

bool read_only(void* handle) { return static_cast<Connection*>(handle)->read_only || plugin.volume->read_only(); }

bool durable(std::uint32_t flags) { return (flags & NBDKIT_FLAG_FUA) != 0; }

// nbdkit sends no writes to a connection for which can_write is false; this holds even so.
void refuse_read_only(void* handle) {
  if (read_only(handle)) throw base::Error(base::Kind::usage, "this connection is read-only", EROFS);
}

// ---- configuration ----

void load() { base::forbid_core_dumps(); }

void dump_plugin() {
  guard([] { std::fputs(capabilities().c_str(), stdout); });
}

int config(const char* key, const char* value) {
  return guard([&] { set(plugin.config, key, value); });
}

int config_complete() {
  return guard([] {
    check(plugin.config);
    plugin.credential = read_secret(plugin.config);
  });
}

// ---- start ----

bool is_refusal_to_write(const base::Error& error) {
  return error.os_error() == EROFS || error.os_error() == EACCES || error.os_error() == EPERM;
}

// nbdkit does not tell a plugin about -r before the first connection, so an image that can only be read is opened so,
// and said so.
std::unique_ptr<volume::Volume> open_as_allowed(volume::OpenOptions& options, const volume::Unlocked& unlocked) {
  try {
    return volume::open_volume(options, unlocked);
  } catch (const base::Error& error) {
    if (options.read_only || !is_refusal_to_write(error)) throw;
    options.read_only = true;
    auto volume = volume::open_volume(options, unlocked);
    warn(std::string("served read-only: ") + error.what());
    return volume;
  }
}

void unlock_and_open() {
  const volume::Credential credential = std::move(*plugin.credential);
  plugin.credential.reset();
  const volume::Unlocked unlocked = volume::unlock(plugin.config.open, credential);
  plugin.volume = open_as_allowed(plugin.config.open, unlocked);
  plugin.description = volume::describe(unlocked, *plugin.volume);
}  // passphrase and volume key are wiped here

constexpr char kMayBeSwapped[] =
    "the keys could not be locked into memory and may be swapped out (ulimit -l is too small)";

int get_ready() {
  return guard([] {
    unlock_and_open();
    plugin.warned_of_swap = !base::secrets_locked();
    if (plugin.warned_of_swap) warn(kMayBeSwapped);
  });
}

int after_fork() {
  return guard([] {
    base::lock_secrets_again();
    // Standard error may be closed by now; nbdkit_error() finds the log.
    if (!base::secrets_locked() && !plugin.warned_of_swap) nbdkit_error("warning: %s", kMayBeSwapped);
  });
}

// ---- connections ----

void* open(int readonly) {
  return guard_or<void*>(nullptr, [&] { return new Connection{readonly != 0}; });
}

void close(void* handle) { delete static_cast<Connection*>(handle); }

const char* export_description(void*) { return plugin.description.c_str(); }

std::int64_t get_size(void*) { return static_cast<std::int64_t>(plugin.volume->size()); }

// Any byte range is served (partly covered sectors are read, patched and written); whole sectors cost nothing extra.
// More than 32 MiB at once is what clients expect to be refused where nothing is said (NBD protocol, "Block size
// constraints").
int block_size(void*, std::uint32_t* minimum, std::uint32_t* preferred, std::uint32_t* maximum) {
  *minimum = 1;
  *preferred = std::max<std::uint32_t>(4096, plugin.volume->sector_bytes());
  *maximum = 32 << 20;
  return 0;
}

int can_write(void* handle) { return !read_only(handle); }
int can_flush(void*) { return 1; }
int can_trim(void* handle) { return !read_only(handle) && plugin.volume->allow_discards(); }
int can_zero(void* handle) { return !read_only(handle); }
// Zeros are encrypted and written as any other data, so that a request for fast ones is refused, but at once, which is
// what this promises. Without the promise nbdkit 1.32 ends with a failed assertion when a client asks all the same.
int can_fast_zero(void* handle) { return can_zero(handle); }
int can_fua(void*) { return NBDKIT_FUA_NATIVE; }
int can_cache(void*) { return NBDKIT_CACHE_NATIVE; }
int can_multi_conn(void*) {
  return 1;
}  // one volume, one descriptor: a flush on any connection covers the writes of all

// ---- requests ----

int pread(void*, void* buffer, std::uint32_t count, std::uint64_t offset, std::uint32_t) {
  return guard([&] { plugin.volume->read(offset, {static_cast<base::Byte*>(buffer), count}); });
}

int pwrite(void* handle, const void* buffer, std::uint32_t count, std::uint64_t offset, std::uint32_t flags) {
  return guard([&] {
    refuse_read_only(handle);
    plugin.volume->write(offset, {static_cast<const base::Byte*>(buffer), count}, durable(flags));
  });
}

int flush(void*, std::uint32_t) {
  return guard([] { plugin.volume->flush(); });
}

int trim(void* handle, std::uint32_t count, std::uint64_t offset, std::uint32_t flags) {
  return guard([&] {
    refuse_read_only(handle);
    plugin.volume->trim(offset, count, durable(flags));
  });
}

int zero(void* handle, std::uint32_t count, std::uint64_t offset, std::uint32_t flags) {
  if ((flags & NBDKIT_FLAG_FAST_ZERO) != 0) {
    nbdkit_set_error(ENOTSUP);  // an answer, not an error: nothing for the log
    return -1;
  }
  return guard([&] {
    refuse_read_only(handle);
    plugin.volume->zero(offset, count, durable(flags));
  });
}

int cache(void*, std::uint32_t count, std::uint64_t offset, std::uint32_t) {
  return guard([&] { plugin.volume->prefetch(offset, count); });
}

// ---- end ----

void cleanup() {
  guard([] {
    plugin.volume.reset();
    if (crypt_debug_stats) std::fputs(call_counts().c_str(), stderr);
  });
}

nbdkit_plugin make_plugin() {
  static const std::string keys = help();
  nbdkit_plugin p{};
  p.name = "crypt";
  p.longname = "encrypted volumes: LUKS and dm-crypt plain";
  p.version = NBDCRYPT_VERSION;
  p.description = "serves the plaintext of a LUKS1, LUKS2 or dm-crypt plain volume";
  p.magic_config_key = "file";
  p.config_help = keys.c_str();
  p.load = load;
  p.dump_plugin = dump_plugin;
  p.config = config;
  p.config_complete = config_complete;
  p.get_ready = get_ready;
  p.after_fork = after_fork;
  p.open = open;
  p.close = close;
  p.export_description = export_description;
  p.get_size = get_size;
  p.block_size = block_size;
  p.can_write = can_write;
  p.can_flush = can_flush;
  p.can_trim = can_trim;
  p.can_zero = can_zero;
  p.can_fast_zero = can_fast_zero;
  p.can_fua = can_fua;
  p.can_cache = can_cache;
  p.can_multi_conn = can_multi_conn;
  p.pread = pread;
  p.pwrite = pwrite;
  p.flush = flush;
  p.trim = trim;
  p.zero = zero;
  p.cache = cache;
  p.cleanup = cleanup;
  return p;
}

nbdkit_plugin callbacks = make_plugin();

}  // namespace
}  // namespace nbdcrypt::plugin

NBDKIT_REGISTER_PLUGIN(nbdcrypt::plugin::callbacks)
