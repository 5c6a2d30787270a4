// SPDX-License-Identifier: Apache-2.0
//
// What the benchmarks that run servers share: their folder, their image, and the options that mean the same to both.
#pragma once

#include <string>
#include <vector>

#include "cli/benchmark_bed.h"
#include "cli/command.h"

namespace nbdcrypt::cli {

/// A folder for the image, the key, the data to write, and the mount point. Removes what it made, and nothing that is
/// mounted there.
class Workplace {
 public:
  explicit Workplace(const std::string& parent);
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  ~Workplace() { remove(); }
  void remove() const noexcept;
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

/// --dir, else $TMPDIR, else `otherwise`.
std::string parent_folder(const Arguments& arguments, const char* otherwise);
/// Throws Error{io} unless `bytes` are free there.
void check_room(const std::string& folder, std::uint64_t bytes);
/// A new file without holes and without blocks that were never written: either would make the first column another one
/// than the last.
void write_whole(const std::string& path, std::uint64_t bytes, bool quiet);

/// --cipher, --key-size, --sector-size. Throws Error{usage}.
void set_volume_options(BedPlan& plan, const Arguments& arguments);
/// --file-size in whole MiB. Throws Error{usage} below 4 MiB.
std::uint64_t file_size_option(const Arguments& arguments, std::uint64_t otherwise);
/// --seconds; 0 when it is not given. --runs.
double seconds_option(const Arguments& arguments);
int runs_option(const Arguments& arguments, std::uint32_t otherwise);
/// The words of "a,b,c".
std::vector<std::string> split(const std::string& list);

/// Takes out the columns of `server` and says why, if there are any.
void leave_out(std::vector<bench::fs::Column>& columns, bench::fs::Column::Server server, const std::string& why);
/// Those that cannot have this cipher.
void leave_out_unable(std::vector<bench::fs::Column>& columns, const std::string& cipher);

/// "12 s", "3 min".
std::string duration(double seconds);

}  // namespace nbdcrypt::cli
