// SPDX-License-Identifier: Apache-2.0
//
// benchmark: the lines of cryptsetup's benchmark, with our ciphers in place of the kernel's, so that it works where
// there is no AF_ALG. With --table one of bench/tables.
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "bench/tables/machine.h"
#include "bench/tables/output.h"
#include "bench/tables/sectors.h"
#include "bench/tables/tables.h"
#include "bench/tables/timing.h"
#include "cli/benchmark.h"
#include "cli/benchmark_plot.h"
#include "cli/interrupt.h"
#include "cli/process.h"
#include "modes/backend_choice.h"
#include "modes/cipher_spec.h"
#include "volume/kdf_benchmark.h"

namespace nbdcrypt::cli {
namespace {

using base::Error;
using base::Kind;
using bench::Row;

constexpr std::uint32_t kSectorBytes = 4096;
constexpr double kMbPerMib = 1048576 / 1e6;

struct Kdf {
  const char *type, *hash;
};
constexpr Kdf kKdfs[] = {{"pbkdf2", "sha1"},      {"pbkdf2", "sha256"}, {"pbkdf2", "sha512"}, {"pbkdf2", "ripemd160"},
                         {"pbkdf2", "whirlpool"}, {"argon2i", ""},      {"argon2id", ""}};

struct Cipher {
  std::string spec;
  std::size_t key_bits;
};

double seconds_of(const Arguments& arguments, double otherwise) {
  const double seconds = arguments.get_or("seconds", otherwise);
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 3600)
    throw Error(Kind::usage, "option --seconds: expected 0 to 3600");
  return seconds;
}

Row kdf_row(const Kdf& kdf, bool quiet) {
  const auto speed = volume::measure_kdf(kdf.type, kdf.hash);
  Row row;
  row.set("table", "kdf").set("mode", kdf.type).set("hash", kdf.hash).set("key_bits", std::size_t{volume::kKdfKeyBits});
  const std::string name = *kdf.hash ? fmt::format("PBKDF2-{}", kdf.hash) : std::string(kdf.type);
  if (!speed) {
    if (!quiet) fmt::print("{:<16}       N/A\n", name);
    return row;
  }
  row.set("iterations", std::size_t{speed->iterations});
  if (*kdf.hash) {
    if (!quiet)
      fmt::print("{:<16} {:9} iterations per second for {}-bit key\n", name, speed->iterations, volume::kKdfKeyBits);
    return row;
  }
  if (!quiet) {
    fmt::print("{:<10} {:6} iterations, {} memory, {} parallel threads (CPUs) for {}-bit key (requested {} ms time)\n",
               name, speed->iterations, speed->memory_kib, speed->threads, volume::kKdfKeyBits, volume::kKdfTargetMs);
  }
  return row.set("memory_kib", std::size_t{speed->memory_kib}).set("threads", std::size_t{speed->threads});
}

double measure_direction(const Cipher& cipher, const aes::Backend& backend, bool encrypt, double seconds) {
  const bench::SectorCase cell{cipher.spec, cipher.key_bits, kSectorBytes, encrypt};
  const auto made = bench::make_cipher(cell, backend, modes::Offload::batch);
  std::vector<bench::Byte> data = bench::bench_data();
  std::uint64_t sector = 0;
  const auto pass = [&] {
    bench::run_cipher(*made, encrypt, sector, data);
    sector += cell.sectors();
  };
  return bench::measure({pass}, data.size(), seconds).front().mb_per_s;
}

void add_cipher_rows(std::vector<Row>& rows, const Cipher& cipher, const aes::Backend& backend, double seconds,
                     bool quiet) {
  double speed[2];
  for (const bool encrypt : {true, false}) {
    speed[encrypt] = measure_direction(cipher, backend, encrypt, seconds);
    const bench::SectorCase cell{cipher.spec, cipher.key_bits, kSectorBytes, encrypt};
    rows.push_back(cell.row("cipher", "nbdcrypt", backend.name).set("mb_per_s", speed[encrypt]));
  }
  if (quiet) return;
  const std::string name = cipher.spec.substr(0, cipher.spec.find('-', cipher.spec.find('-') + 1));
  fmt::print("{:>15} {:>9}b {:>10.1f} MiB/s {:>10.1f} MiB/s\n", name, cipher.key_bits, speed[true] / kMbPerMib,
             speed[false] / kMbPerMib);
}

std::vector<Cipher> ciphers_of(const Arguments& arguments) {
  if (!arguments.has("cipher") && !arguments.has("key-size")) {
    return {{"aes-cbc-essiv:sha256", 128},
            {"aes-cbc-essiv:sha256", 256},
            {"aes-xts-plain64", 256},
            {"aes-xts-plain64", 512}};
  }
  const Cipher cipher{arguments.get_or<std::string>("cipher", "aes-xts-plain64"),
                      arguments.get_or<std::uint32_t>("key-size", 256)};
  modes::parse_cipher_spec(cipher.spec);  // throws by name
  return {cipher};
}

// Beside this program, else of the PATH.
std::string peers_program() {
  std::error_code unknown;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", unknown);
  const std::string beside = (self.parent_path() / "nbdcrypt-peers").string();
  if (!self.empty() && access(beside.c_str(), X_OK) == 0) return beside;
  const std::string found = find_program("nbdcrypt-peers");
  if (found.empty())
    throw Error(Kind::device, "nbdcrypt-peers: no such program; it measures the other libraries", 0,
                "it is built where libcrypto and libgcrypt are");
  return found;
}

// The other libraries' rows of the same cells. What they are linked to is none of this program's business.
void add_peers(std::vector<Row>& rows, double seconds) {
  const std::string output =
      run_or_throw({.argv = {peers_program(), "sectors", "--seconds", std::to_string(seconds), "--json", "-"},
                    .dies_with_us = true});
  const auto report = nlohmann::ordered_json::parse(output);
  for (const auto& fields : report.at("rows")) {
    if (fields.at("library") == "nbdcrypt") continue;
    Row row;
    for (const auto& [name, value] : fields.items()) {
      if (name == "ratio") continue;  // of another meaning there
      if (value.is_number_integer()) row.set(name, value.get<std::int64_t>());
      if (value.is_number_float()) row.set(name, value.get<double>());
      if (value.is_string()) row.set(name, value.get<std::string>());
    }
    rows.push_back(row.set("table", "sectors"));
  }
}

int run_table(const Arguments& arguments, const std::string& name, const std::string& json_file) {
  if (name == "list") {
    for (const bench::Table& table : bench::tables()) fmt::print("{:<10} {}\n", table.name, table.what);
    return 0;
  }
  const std::string plot_file = arguments.get_or<std::string>("plot", "");
  if (!plot_file.empty() && bench::fs::picture_of(plot_file) == bench::fs::Picture::png) require_gnuplot();
  for (const char* option : {"cipher", "key-size"}) {
    if (arguments.has(option)) throw Error(Kind::usage, fmt::format("option --{} is not for --table", option));
  }
  bench::Options options;
  options.table = name;
  options.backend = arguments.get_or<std::string>("backend", "");
  options.seconds = seconds_of(arguments, options.seconds);
  if (arguments.flag("peers")) {
    if (name != "sectors") throw Error(Kind::usage, "option --peers is for fs and --table sectors");
    peers_program();
  }
  bench::Measured measured = bench::measure_table(options);
  if (arguments.flag("peers")) add_peers(measured.rows, options.seconds);
  bench::publish(json_file, measured.machine, measured.rows);
  if (!plot_file.empty()) draw_table(measured, name + ": " + measured.figure, plot_file);
  return 0;
}

}  // namespace

int run_cipher_benchmark(const Arguments& arguments) {
  const std::string json_file = arguments.get_or<std::string>("json", "");
  if (arguments.has("table")) return run_table(arguments, arguments.get<std::string>("table"), json_file);
  if (arguments.has("plot")) throw Error(Kind::usage, "option --plot is for fs, nbd and --table");
  if (arguments.flag("peers")) throw Error(Kind::usage, "option --peers is for fs and --table sectors");
  const aes::Backend& backend = modes::choose_backend(arguments.get_or<std::string>("backend", ""));
  const std::vector<Cipher> ciphers = ciphers_of(arguments);
  const double seconds = seconds_of(arguments, 0.5);
  const bool quiet = json_file == "-";
  const Row machine = bench::this_machine();
  const Interrupts interrupts;
  std::vector<Row> rows;
  if (!quiet) fmt::print("# Tests are approximate using memory only (no storage IO); ciphers by {}.\n", backend.name);
  if (!arguments.has("cipher") && !arguments.has("key-size")) {
    for (const Kdf& kdf : kKdfs) {
      rows.push_back(kdf_row(kdf, quiet));
      std::fflush(stdout);
      Interrupts::check();
    }
  }
  if (!quiet) fmt::print("#     Algorithm |       Key |      Encryption |      Decryption\n");
  for (const Cipher& cipher : ciphers) {
    add_cipher_rows(rows, cipher, backend, seconds, quiet);
    Interrupts::check();
  }
  if (!json_file.empty()) bench::save_json(json_file, machine, rows);
  return 0;
}

}  // namespace nbdcrypt::cli
