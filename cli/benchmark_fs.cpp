// SPDX-License-Identifier: Apache-2.0
//
// benchmark fs: from the options to a plan, which is shown first; then the turns; then the table and the files.
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>

#include "base/error.h"
#include "bench/fs/summary.h"
#include "bench/fs/tools.h"
#include "bench/tables/machine.h"
#include "bench/tables/output.h"
#include "cli/add_options.h"
#include "cli/attach_dm.h"
#include "cli/benchmark.h"
#include "cli/benchmark_bed.h"
#include "cli/benchmark_plot.h"
#include "cli/benchmark_workplace.h"
#include "cli/byte_size.h"
#include "cli/interrupt.h"
#include "cli/opening.h"
#include "cli/process.h"
#include "cli/progress.h"
#include "cli/teardown.h"
#include "cli/terminal.h"
#include "cli/watchdog.h"

namespace nbdcrypt::cli {
namespace {

using base::Error;
using base::Kind;
namespace fs = bench::fs;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kMinGroupBytes = 96 * kMiB;  // below that the load is short of memory for itself

struct Plan {
  BedPlan bed;
  fs::Workload load;
  fs::Tool tool = fs::Tool::own;
  std::vector<fs::Column> columns;
  std::uint64_t image_bytes = 0;
  bool own_image = true;
  int runs = 0;
  std::string json_file, csv_file, plot_file;
  bool quiet = false;
};

// What is left when the benchmark was killed: what its destructors would have undone.
void clean_up(const RuntimeDir& runtime, pid_t benchmark, const Workplace& workplace, const fs::MemoryGroup* group) {
  remove_beds(runtime, benchmark);
  workplace.remove();
  if (group != nullptr) group->remove();
}

// Journals and the tables of inodes; xfs and btrfs insist on a few hundred MiB of their own.
std::uint64_t image_bytes_for(const std::string& file_system, std::uint64_t file_bytes) {
  const std::uint64_t floor = file_system.starts_with("ext") ? 48 * kMiB : 448 * kMiB;
  return (std::max(floor, file_bytes / 8 + 160 * kMiB) + file_bytes) / kMiB * kMiB;
}

std::vector<fs::Column> columns_option(const Arguments& arguments) {
  std::vector<std::string> backends = split(arguments.get_or<std::string>("backend", ""));
  std::string first;
  if (!backends.empty()) {
    first = backends.front();
    backends.erase(backends.begin());
  }
  return fs::columns_for(first, backends, arguments.flag("peers"));
}

Plan plan_of(const Arguments& arguments) {
  Plan plan;
  plan.columns = columns_option(arguments);
  plan.tool = fs::parse_tool(arguments.get_or<std::string>("tool", "own"));
  plan.load.raw = arguments.flag("raw");
  if (plan.load.raw && plan.tool != fs::Tool::own)
    throw Error(Kind::usage, "option --raw cannot be combined with --tool: the programs want a file system");
  plan.load.file_bytes = file_size_option(arguments, 1024 * kMiB);
  plan.load.files = arguments.get_or<std::uint32_t>("files", 4096);
  plan.load.seconds = seconds_option(arguments);
  if (plan.load.seconds > 0 && plan.tool == fs::Tool::bonnie)
    throw Error(Kind::usage, "option --seconds cannot be combined with --tool bonnie++: it runs to its end");
  plan.runs = runs_option(arguments, 3);
  set_volume_options(plan.bed, arguments);
  plan.bed.file_system = arguments.get_or<std::string>("fstype", "ext4");
  plan.bed.raw = plan.load.raw;
  plan.bed.attach = attach_choice(arguments);
  plan.image_bytes = image_bytes_for(plan.bed.file_system, plan.load.file_bytes);
  plan.own_image = !arguments.has("image");
  if (!plan.own_image) plan.bed.image = std::filesystem::absolute(arguments.get<std::string>("image"));
  plan.json_file = arguments.get_or<std::string>("json", "");
  plan.csv_file = arguments.get_or<std::string>("csv", "");
  plan.plot_file = arguments.get_or<std::string>("plot", "");
  plan.quiet = arguments.flag("batch-mode");
  return plan;
}

// Whatever can be refused is refused before the long part.
void check_plan(const Plan& plan) {
  if (!plan.plot_file.empty()) {
    fs::picture_of(plan.plot_file);
    require_gnuplot();
  }
  if (plan.tool != fs::Tool::own) {
    const std::string program = fs::tool_words(plan.tool, plan.load).front();
    if (find_program(program).empty())
      throw Error(Kind::device, program + ": no such program", 0, "install the package " + program);
  }
  for (const fs::Column& column : plan.columns) check_bed(plan.bed, column);
}

void take_image(Plan& plan, const std::string& folder) {
  if (!plan.own_image) {
    const volume::FileDescriptor image = volume::open_image(plan.bed.image, volume::Access::read_only);
    const std::uint64_t bytes = volume::size_of(image.get(), plan.bed.image);
    if (bytes < plan.image_bytes && !plan.load.raw) {
      throw Error(Kind::usage,
                  fmt::format("{}: has {}, {} needed", plan.bed.image, human_size(bytes), human_size(plan.image_bytes)),
                  0, "a smaller file: --file-size");
    }
    if (plan.load.raw && bytes < plan.load.file_bytes + 4 * kMiB)
      throw Error(Kind::usage, fmt::format("{}: has {} only", plan.bed.image, human_size(bytes)));
    return;
  }
  check_room(folder, plan.image_bytes);
  plan.bed.image = folder + "/image";
  write_whole(plan.bed.image, plan.image_bytes, plan.quiet);
}

constexpr double kSetUpSeconds = 4;
constexpr double kAssumedBytesPerSecond = 400e6;  // until the first turn has shown better

double expected_seconds_of_turn(const Plan& plan) {
  double phase = static_cast<double>(plan.load.file_bytes) / kAssumedBytesPerSecond;
  if (plan.tool == fs::Tool::bonnie) phase *= 60;  // its putc() and getc() lock
  if (plan.load.seconds > 0) phase = std::min(phase, plan.load.seconds);
  return kSetUpSeconds + 5 * phase + 3;
}

std::string caches(const Plan& plan, const fs::MemoryGroup* group, std::uint64_t limit) {
  if (group != nullptr) return "page cache of the load limited to " + human_size(limit);
  return plan.load.drop_caches ? "caches of the whole system dropped before reading"
                               : "the file's own pages dropped before reading";
}

void show_plan(const Plan& plan, const std::string& caching) {
  std::vector<std::string> names;
  for (const fs::Column& column : plan.columns) names.push_back(column.name);
  const double turns = static_cast<double>(plan.columns.size()) * plan.runs;
  tell(fmt::format("{} {}, {}, {}-bit key, {}-byte sectors, image {}\ncolumns: {}\n{}\n{} run{} of each, about {}\n",
                   human_size(plan.load.file_bytes),
                   plan.load.raw ? "without a file system" : "on " + plan.bed.file_system, plan.bed.cipher,
                   plan.bed.key_bits, plan.bed.sector_bytes, plan.bed.image, fmt::join(names, "; "), caching, plan.runs,
                   plan.runs == 1 ? "" : "s", duration(turns * expected_seconds_of_turn(plan))));
}

// The bar of the present turn, with the time that is left by the turns before.
class Turns {
 public:
  explicit Turns(const Plan& plan) : plan_(plan) {}

  void begin(int round, const fs::Column& column) {
    bar_.reset();
    const double done = begun_++;
    const double all = static_cast<double>(plan_.columns.size()) * plan_.runs;
    const double passed = std::chrono::duration<double>(Clock::now() - start_).count();
    const double each = done > 0 ? passed / done : expected_seconds_of_turn(plan_);
    bar_.emplace(fmt::format("{}/{} {}, {} left", round + 1, plan_.runs, column.name, duration((all - done) * each)),
                 5 * plan_.load.file_bytes, plan_.quiet);
    bar_->update(0);
  }
  void step(fs::Phase phase, std::uint64_t done_bytes) {
    if (bar_) bar_->update(static_cast<std::uint64_t>(phase) * plan_.load.file_bytes + done_bytes);
  }

 private:
  using Clock = std::chrono::steady_clock;
  const Plan& plan_;
  Clock::time_point start_ = Clock::now();
  int begun_ = 0;
  std::optional<Progress> bar_;
};

fs::Body body_for(const Plan& plan, const std::string& where) {
  fs::Workload load = plan.load;
  load.where = where;
  if (plan.tool == fs::Tool::own) return [load](fs::Observer& observer) { fs::run_phases(load, observer); };
  return [load, tool = plan.tool](fs::Observer& observer) {
    const Program program{.argv = fs::tool_words(tool, load), .dies_with_us = true, .interruptible = false};
    fs::tell_results(tool, run_or_throw(program), observer);
  };
}

bench::Row machine_row(const Plan& plan, const std::string& caching) {
  const char* tools[] = {"own", "bonnie++", "fio"};
  bench::Row row = bench::this_machine();
  struct statvfs system;
  const bool in_memory = statvfs(plan.bed.image.c_str(), &system) == 0 && plan.bed.image.starts_with("/dev/shm/");
  row.set("tool", tools[static_cast<int>(plan.tool)]).set("caches", caching);
  return row.set("image_on", in_memory ? "memory" : "disk").set("runs", static_cast<std::int64_t>(plan.runs));
}

bench::Row common_row(const Plan& plan) {
  bench::Row row;
  row.set("table", "fs").set("mode", plan.bed.cipher).set("key_bits", std::size_t{plan.bed.key_bits});
  row.set("unit_bytes", std::size_t{plan.bed.sector_bytes});
  row.set("file_system", plan.load.raw ? "none" : plan.bed.file_system);
  return row.set("file_mib", static_cast<std::int64_t>(plan.load.file_bytes / kMiB));
}

template <class Write>
void save(const std::string& file, Write&& write) {
  if (file.empty()) return;
  if (file == "-") return write(std::cout);
  std::ofstream out(file);
  write(out);
  out.close();
  if (!out) throw Error(Kind::io, file + ": cannot be written");
}

void show_results(const Plan& plan, const bench::Row& machine, const std::vector<bench::Row>& rows) {
  const fs::Grid grid = fs::grid_of(rows);
  if (plan.json_file != "-" && plan.csv_file != "-") fs::write_table(std::cout, grid);
  save(plan.json_file, [&](std::ostream& out) { bench::write_json(out, machine, rows); });
  save(plan.csv_file, [&](std::ostream& out) { fs::write_csv(out, rows); });
  const std::string title = fmt::format("{}, {}, {}-bit key, {}-byte sectors, {} file",
                                        plan.load.raw ? "no file system" : plan.bed.file_system, plan.bed.cipher,
                                        plan.bed.key_bits, plan.bed.sector_bytes, human_size(plan.load.file_bytes));
  if (!plan.plot_file.empty()) draw_plot(grid, title, plan.plot_file);
  std::cout.flush();
}

}  // namespace

void add_fs_benchmark_options(po::options_description& options) {
  add_value<std::string>(options, "fstype", "TYPE", "fs: ext4 (default), ext2, ext3, xfs, btrfs");
  add_value<ByteSize>(options, "file-size", "SIZE", "fs: of the large file (default 1G); nbd: of the volume (512M)");
  add_value<std::uint32_t>(options, "files", "N", "fs: how many small files (default 4096)");
  add_value<std::uint32_t>(options, "runs", "N", "fs, nbd: of each column (default 3; nbd: 5)");
  add_value<std::uint32_t>(options, "sector-size", "BYTES",
                           "fs: of the volume (default 4096); nbd: plain volumes in place of LUKS1");
  add_flag(
      options, "peers",
      "fs: also nbdkit's luks filter, QEMU's luks driver and the kernel's dm-crypt; --table sectors: other libraries");
  add_value<std::string>(options, "image", "FILE", "fs: work in this file or device; what it holds is lost");
  add_value<std::string>(options, "dir", "DIR", "make the image here (default $TMPDIR; fs: /var/tmp, nbd: /dev/shm)");
  add_flag(options, "raw", "fs: the same accesses to the NBD device, without a file system");
  add_value<std::string>(options, "tool", "NAME", "fs: own (default), bonnie++ or fio");
  add_value<std::string>(options, "csv", "FILE", "fs: write the rows as CSV; -: to standard output");
  add_value<std::string>(options, "plot", "FILE",
                         "draw to a .svg or .png: fs, nbd: the percentages; --table: its figures");
  add_attach_options(options);
  add_runtime_options(options);
}

int run_fs_benchmark(const Arguments& arguments) {
  Plan plan = plan_of(arguments);
  leave_out_unable(plan.columns, plan.bed.cipher);
  if (const std::string missing = dm_is_missing(); !missing.empty())
    leave_out(plan.columns, fs::Column::Server::dm_crypt, "no dm-crypt here (" + missing + ")");
  const RuntimeDir runtime = RuntimeDir::choose(arguments);
  clean_stale(runtime);
  const Interrupts interrupts;
  const Workplace workplace(parent_folder(arguments, "/var/tmp"));
  plan.bed.folder = workplace.path();
  if (!plan.own_image && !confirm("This overwrites " + plan.bed.image + " irrevocably.", plan.quiet)) return 1;
  const std::uint64_t limit = std::max(kMinGroupBytes, plan.load.file_bytes / 4);
  const auto group = fs::MemoryGroup::make(limit);
  const Watchdog watchdog([&, us = getpid()] { clean_up(runtime, us, workplace, group.get()); });
  take_image(plan, workplace.path());
  check_plan(plan);

  plan.load.drop_caches = group == nullptr && geteuid() == 0;
  const std::string caching = caches(plan, group.get(), limit);
  if (!plan.quiet) show_plan(plan, caching);
  const bench::Row machine = machine_row(plan, caching);

  Turns turns(plan);
  const fs::Samples samples = fs::compare(
      plan.columns, plan.runs, [&](const fs::Column& column) { return make_bed(runtime, plan.bed, column); },
      [&](const std::string& where) { return body_for(plan, where); }, group.get(), plan.tool == fs::Tool::own,
      {.begin = [&](int round, const fs::Column& column) { turns.begin(round, column); },
       .step = [&](fs::Phase phase, std::uint64_t bytes) { turns.step(phase, bytes); },
       .check = [] { Interrupts::check(); }});
  std::vector<bench::Row> rows = fs::summarise(plan.columns, samples, common_row(plan));
  if (bench::is_emulated(machine)) fs::keep_ratios(rows);
  show_results(plan, machine, rows);
  return 0;
}

}  // namespace nbdcrypt::cli
