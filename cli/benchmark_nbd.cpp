// SPDX-License-Identifier: Apache-2.0
//
// benchmark nbd: servers of the same image against each other and against no encryption, over a Unix socket. They take
// turns in every round, each freshly started, and each round begins with another one.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>

#include "base/error.h"
#include "bench/nbd/loads.h"
#include "bench/tables/machine.h"
#include "bench/tables/output.h"
#include "cli/add_options.h"
#include "cli/benchmark.h"
#include "cli/benchmark_plot.h"
#include "cli/benchmark_workplace.h"
#include "cli/byte_size.h"
#include "cli/client.h"
#include "cli/interrupt.h"
#include "cli/opening.h"
#include "cli/process.h"
#include "cli/progress.h"
#include "cli/teardown.h"
#include "cli/terminal.h"
#include "cli/watchdog.h"
#include "modes/backend_choice.h"

namespace nbdcrypt::cli {
namespace {

using base::Error;
using base::Kind;
using bench::fs::Column;
using bench::nbd::Load;
using bench::nbd::Sample;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kHeaderBytes = 4 * kMiB;  // more than LUKS1's
constexpr double kFioSeconds = 2;

struct Plan {
  BedPlan bed;
  std::vector<Column> columns;
  std::vector<Load> loads;
  std::vector<std::uint32_t> threads;  // of the server; 0: nbdkit's own choice
  std::uint64_t data_bytes = 0;
  int runs = 0;
  double seconds = 0;
  bool evict = false;
  std::string source;
  std::string json_file, plot_file;
  bool quiet = false;
};

// "1,4,16".
std::vector<std::uint32_t> numbers_option(const Arguments& arguments, const char* option, std::uint32_t otherwise) {
  constexpr int kMost = 1024;
  std::vector<std::uint32_t> numbers;
  if (!arguments.has(option)) return {otherwise};
  for (const std::string& word : split(arguments.get<std::string>(option))) {
    int number = -1;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size() || number < 1 || number > kMost)
      throw Error(Kind::usage, fmt::format("option --{}: {}: expected numbers of 1 to {}", option, word, kMost));
    numbers.push_back(static_cast<std::uint32_t>(number));
  }
  if (numbers.empty()) throw Error(Kind::usage, fmt::format("option --{}: expected a number", option));
  return numbers;
}

std::vector<Column> columns_option(const Arguments& arguments) {
  std::vector<Column> columns{{.name = "nbdkit file", .server = Column::Server::nbdkit_file}};
  std::vector<std::string> backends = split(arguments.get_or<std::string>("backend", ""));
  if (backends.empty()) backends.emplace_back();
  for (const std::string& backend : backends)
    columns.push_back({.name = "nbdcrypt", .server = Column::Server::nbdcrypt, .backend = backend});
  columns.push_back({.name = "nbdkit luks filter", .server = Column::Server::nbdkit_luks});
  columns.push_back({.name = "qemu-nbd luks", .server = Column::Server::qemu_luks});
  return columns;
}

Plan plan_of(const Arguments& arguments) {
  Plan plan;
  set_volume_options(plan.bed, arguments);
  plan.bed.luks1 = !arguments.has("sector-size");
  if (plan.bed.luks1) plan.bed.sector_bytes = 512;
  plan.bed.serve_only = true;
  plan.columns = columns_option(arguments);
  plan.data_bytes = file_size_option(arguments, 512 * kMiB);
  plan.runs = runs_option(arguments, 5);
  plan.seconds = arguments.has("seconds") ? seconds_option(arguments) : kFioSeconds;
  const std::vector<std::uint32_t> connections = numbers_option(arguments, "connections", 4);
  plan.loads = bench::nbd::loads({connections.begin(), connections.end()}, !find_program("fio").empty());
  plan.threads = numbers_option(arguments, "threads", 0);
  plan.evict = arguments.flag("evict");
  plan.json_file = arguments.get_or<std::string>("json", "");
  plan.plot_file = arguments.get_or<std::string>("plot", "");
  plan.quiet = arguments.flag("batch-mode");
  return plan;
}

void check_plan(const Plan& plan) {
  if (!plan.plot_file.empty() && bench::fs::picture_of(plan.plot_file) == bench::fs::Picture::png) require_gnuplot();
  if (find_program("nbdcopy").empty())
    throw Error(Kind::device, "nbdcopy: no such program", 0, "install the package libnbd-bin");
  for (const Column& column : plan.columns) check_bed(plan.bed, column);
}

// In memory, where that is large enough: the disk is not what is compared.
std::string folder_for(const Arguments& arguments) {
  return parent_folder(arguments, access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/var/tmp");
}

void evict(const std::string& path) {
  const volume::FileDescriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file || fsync(file.get()) != 0) base::throw_os_error(path, errno);
  posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
}

Sample run_load(const Plan& plan, const Load& load, const bench::fs::Bed& bed) {
  using Clock = std::chrono::steady_clock;
  const Program program{.argv = bench::nbd::words(load, bed.where(), plan.source, plan.seconds), .dies_with_us = true};
  const double cpu_before = bed.server_cpu_seconds();
  const Clock::time_point start = Clock::now();
  const std::string output = run_or_throw(program);
  const std::chrono::duration<double> passed = Clock::now() - start;
  const double cpu = bed.server_cpu_seconds() - cpu_before;
  bench::nbd::Moved moved{static_cast<double>(plan.data_bytes), passed.count()};
  if (!load.copies())
    moved = bench::nbd::fio_result(load, output);
  else if (load.rw == "read")
    moved.bytes = static_cast<double>(ask_server(bed.where()).bytes);
  return {moved.bytes / moved.seconds / 1e6, cpu / (moved.bytes / 1e9)};
}

// A bar for all turns.
class Turns {
 public:
  explicit Turns(const Plan& plan)
      : plan_(plan),
        all_(plan.loads.size() * plan.threads.size() * plan.columns.size() * static_cast<std::size_t>(plan.runs)),
        bar_(fmt::format("{} turns", all_), all_ * plan.data_bytes, plan.quiet) {
    if (plan.quiet) return;
    tell(fmt::format("{} of {} each, {}, {}-bit key, {}\n{} turns, about {}\n", human_size(plan.data_bytes),
                     plan.bed.luks1 ? "LUKS1" : "plain volumes", plan.bed.cipher, plan.bed.key_bits, plan.bed.image,
                     all_, duration(static_cast<double>(all_) * (plan.seconds + 1))));
  }
  void next() { bar_.update(++done_ * plan_.data_bytes); }

 private:
  const Plan& plan_;
  std::uint64_t all_, done_ = 0;
  Progress bar_;
};

using Samples = std::vector<std::vector<Sample>>;  // [column][round]

Samples run_rounds(const RuntimeDir& runtime, const Plan& plan, const BedPlan& bed, const Load& load, Turns& turns) {
  Samples samples(plan.columns.size());
  for (int round = 0; round < plan.runs; ++round) {
    for (std::size_t i = 0; i < plan.columns.size(); ++i) {
      const std::size_t turn = (i + static_cast<std::size_t>(round)) % plan.columns.size();
      Interrupts::check();
      if (plan.evict) evict(bed.image);
      const auto made = make_bed(runtime, bed, plan.columns[turn]);
      samples[turn].push_back(run_load(plan, load, *made));
      turns.next();
    }
  }
  return samples;
}

bench::Row common_row(const Plan& plan, const Column& column) {
  const bool ours = column.server == Column::Server::nbdcrypt, plain = column.server == Column::Server::nbdkit_file;
  bench::Row row;
  row.set("table", "nbd").set("server", column.name);
  if (ours) row.set("backend", column.backend.empty() ? modes::choose_backend("").name : column.backend);
  row.set("mode", plain ? std::string("none") : plan.bed.cipher);
  row.set("key_bits", std::size_t{plain ? 0 : plan.bed.key_bits});
  return row.set("unit_bytes", std::size_t{ours ? plan.bed.sector_bytes : plain ? 1 : 512});
}

std::vector<bench::Row> measure(const RuntimeDir& runtime, const Plan& plan) {
  std::vector<bench::Row> rows;
  Turns turns(plan);
  for (const Load& load : plan.loads) {
    for (const std::uint32_t threads : plan.threads) {
      BedPlan bed = plan.bed;
      bed.server_threads = threads;
      const Samples samples = run_rounds(runtime, plan, bed, load, turns);
      for (std::size_t i = 0; i < samples.size(); ++i) {
        bench::Row row = common_row(plan, plan.columns[i]);
        if (threads != 0) row.set("threads", std::size_t{threads});
        const bench::Row figures = bench::nbd::summary(load, samples[i], samples[0]);
        for (const bench::Field& field : figures.fields()) row.set(field.first, field.second);
        rows.push_back(std::move(row));
      }
    }
  }
  return rows;
}

bench::Row machine_row(const Plan& plan) {
  bench::Row row = bench::this_machine();
  row.set("data_mib", static_cast<std::int64_t>(plan.data_bytes / kMiB)).set("runs", std::int64_t{plan.runs});
  row.set("image_on", plan.bed.image.starts_with("/dev/shm/") ? "memory" : "disk");
  return row.set("page_cache", plan.evict ? "without the image before each turn" : "as it comes");
}

}  // namespace

void add_nbd_benchmark_options(po::options_description& options) {
  add_value<std::string>(options, "connections", "N[,N...]", "nbd: of each client (default 4)");
  add_value<std::string>(options, "threads", "N[,N...]", "nbd: of nbdkit (default: its own choice)");
  add_flag(options, "evict", "nbd: drop the image from the page cache before each turn; for --dir on a disk");
}

int run_nbd_benchmark(const Arguments& arguments) {
  Plan plan = plan_of(arguments);
  leave_out_unable(plan.columns, plan.bed.cipher);
  if (find_program("qemu-nbd").empty()) leave_out(plan.columns, Column::Server::qemu_luks, "no qemu-nbd here");
  if (find_program("fio").empty()) tell("nbdcrypt: no fio here; nbdcopy alone\n");
  const RuntimeDir runtime = RuntimeDir::choose(arguments);
  clean_stale(runtime);
  const Interrupts interrupts;
  const Workplace workplace(folder_for(arguments));
  plan.bed.folder = workplace.path();
  plan.bed.image = workplace.path() + "/image";
  plan.source = workplace.path() + "/source";
  const Watchdog watchdog([&, us = getpid()] {
    remove_beds(runtime, us);
    workplace.remove();
  });
  check_room(workplace.path(), 2 * plan.data_bytes + kHeaderBytes);
  write_whole(plan.bed.image, plan.data_bytes + kHeaderBytes, plan.quiet);
  check_plan(plan);
  write_whole(plan.source, plan.data_bytes, plan.quiet);

  const bench::Row machine = machine_row(plan);
  const std::vector<bench::Row> rows = measure(runtime, plan);
  bench::publish(plan.json_file, machine, rows);
  if (!plan.plot_file.empty())
    draw_table({.machine = machine, .rows = rows, .figure = "ratio"}, "Throughput over that of nbdkit file",
               plan.plot_file);
  return 0;
}

}  // namespace nbdcrypt::cli
