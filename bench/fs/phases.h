// SPDX-License-Identifier: Apache-2.0
//
// The classic load of bonnie, by ourselves: one large file through stdio a character at a time and through read() and
// write() a block at a time, random seeks in it, and many small files. Characters go through the unlocked calls, as in
// the classic; those that lock cost 20 times as much today and hide whatever lies below.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace nbdcrypt::bench::fs {

enum class Phase { putc, rewrite, write, getc, read, seeks, create, stat, remove };
inline constexpr std::array kPhases = {Phase::putc,  Phase::rewrite, Phase::write, Phase::getc,  Phase::read,
                                       Phase::seeks, Phase::create,  Phase::stat,  Phase::remove};

/// "putc", "rewrite" and so on, for programs.
const char* key_of(Phase phase) noexcept;
/// "Writing with putc()" and so on, for people.
const char* title_of(Phase phase) noexcept;
/// True for those that move the whole file, in kB/s; the others count operations a second.
constexpr bool moves_data(Phase phase) noexcept { return phase <= Phase::read; }

struct Workload {
  std::string where;             // a folder in the file system; with `raw` the device or file itself
  bool raw = false;              // no file system: the same accesses to the device, without the small files
  std::uint64_t file_bytes = 0;  // a multiple of kBlockBytes
  unsigned files = 0;            // how many small ones
  double seconds = 0;            // a phase ends after this long, wherever it has got to; 0: when it is done
  bool drop_caches = false;      // all of the system's, before anything is read again (root)
};
inline constexpr std::size_t kBlockBytes = 8192;  // what bonnie++ reads and writes at a time

/// Follows what happens.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void begin(Phase phase) = 0;
  /// So many bytes of the phase are done.
  virtual void step(std::uint64_t done_bytes) = 0;
  /// `amount`: bytes, or operations of a phase that counts these.
  virtual void end(Phase phase, double amount, double seconds) = 0;
};

/// Runs all phases in order. Phases that write include the time until everything is durable. Throws base::Error{io}.
void run_phases(const Workload& load, Observer& observer);

}  // namespace nbdcrypt::bench::fs
