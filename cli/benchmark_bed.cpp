// SPDX-License-Identifier: Apache-2.0
#include "cli/benchmark_bed.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <limits>
#include <map>
#include <random>
#include <thread>

#include "base/error.h"
#include "bench/process_usage.h"
#include "cli/attach_dm.h"
#include "cli/client.h"
#include "cli/filesystem.h"
#include "cli/opening.h"
#include "cli/process.h"
#include "cli/server.h"
#include "cli/teardown.h"
#include "modes/backend_choice.h"
#include "volume/header.h"

namespace nbdcrypt::cli {
namespace {

using base::Error;
using base::Kind;
using bench::fs::Column;

// Whoever can write to the plan's folder may read the benchmark's data: it is nobody's.
constexpr const char* kPassphrase = "benchmark";

std::string key_file(const BedPlan& plan) { return plan.folder + "/key"; }
std::string mount_point(const BedPlan& plan) { return plan.folder + "/mnt"; }

volume::OpenOptions options_of(const BedPlan& plan, const Column& column) {
  volume::OpenOptions options;
  options.image = plan.image;
  options.type = plan.luks1 ? volume::Type::luks1 : volume::Type::plain;
  if (!plan.luks1) {
    options.cipher = plan.cipher;
    options.key_size_bits = plan.key_bits;
    options.sector_size = plan.sector_bytes;
  }
  options.backend = column.backend;
  options.offload = column.offload;
  return options;
}

// A key for throw-away data; XTS wants halves that differ.
base::SecretBuffer random_key(const BedPlan& plan) {
  base::SecretBuffer key(plan.key_bits / 8);
  std::random_device random;
  for (auto& byte : key.bytes()) byte = static_cast<std::uint8_t>(random());
  return key;
}

base::SecretBuffer passphrase() {
  const std::string_view text = kPassphrase;
  base::SecretBuffer secret(text.size());
  std::copy(text.begin(), text.end(), secret.bytes().begin());
  return secret;
}

volume::Unlocked unlocked_for(const BedPlan& plan, const Column& column) {
  if (plan.luks1) return volume::unlock(options_of(plan, column), {volume::SecretKind::passphrase, passphrase()});
  return volume::unlock(options_of(plan, column), {volume::SecretKind::volume_key, random_key(plan)});
}

// For dm-crypt, which takes the same plain volume as we do.
void write_key(const BedPlan& plan) {
  const base::SecretBuffer key = random_key(plan);
  std::ofstream file(key_file(plan), std::ios::binary);
  file.write(reinterpret_cast<const char*>(key.data()), static_cast<std::streamsize>(key.size()));
}

// Both peers take LUKS1 with any of our ciphers, and always 512-byte sectors.
void format_luks1(const BedPlan& plan) {
  std::ofstream(key_file(plan)) << kPassphrase;
  volume::FormatOptions format;
  format.image = plan.image;
  format.type = volume::Type::luks1;
  format.cipher = plan.cipher;
  format.key_size_bits = plan.key_bits;
  format.pbkdf = {.type = "pbkdf2", .force_iterations = 1000};
  volume::format(format, passphrase().bytes(), {});
}

std::vector<std::string> make_file_system(const BedPlan& plan, const std::string& device) {
  const std::string& type = plan.file_system;
  if (type == "xfs") return {"mkfs.xfs", "-f", "-q", "-K", "-s", "size=" + std::to_string(plan.sector_bytes), device};
  if (type == "btrfs") return {"mkfs.btrfs", "-f", "-q", "-K", device};
  // Nothing left for the kernel to do in the background.
  return {"mkfs." + type,
          "-F",
          "-q",
          "-b",
          "4096",
          "-m",
          "0",
          "-E",
          type == "ext2" ? "nodiscard,lazy_itable_init=0" : "nodiscard,lazy_itable_init=0,lazy_journal_init=0",
          device};
}

[[noreturn]] void refuse_nbdkit(const Outcome& outcome) {
  throw Error(Kind::io, "nbdkit: " + complaint_of(outcome.err));
}
[[noreturn]] void refuse_qemu(const Outcome& outcome) { throw Error(Kind::io, outcome.complaint_of("qemu-nbd")); }

pid_t start_column(const Entry& entry, const BedPlan& plan, const Column& column) {
  std::vector<std::string> nbdkit = nbdkit_words(entry), threads;
  if (plan.server_threads != 0) threads = {"-t", std::to_string(plan.server_threads)};
  nbdkit.insert(nbdkit.end(), threads.begin(), threads.end());
  switch (column.server) {
    case Column::Server::nbdcrypt:
      if (plan.luks1) format_luks1(plan);
      return start_server(entry, options_of(plan, column), unlocked_for(plan, column), threads);
    case Column::Server::nbdkit_file:
      nbdkit.insert(nbdkit.end(), {"file", plan.image});
      return start_in_entry(entry, {.argv = nbdkit}, refuse_nbdkit);
    case Column::Server::nbdkit_luks:
      format_luks1(plan);
      nbdkit.insert(nbdkit.end(), {"--filter=luks", "file", plan.image, "passphrase=+" + key_file(plan)});
      return start_in_entry(entry, {.argv = nbdkit}, refuse_nbdkit);
    case Column::Server::qemu_luks:
      format_luks1(plan);
      return start_in_entry(
          entry,
          {.argv = {"qemu-nbd", "--fork", "--pid-file", entry.path(kServerPidFile), "-t", "-e", "32", "-k",
                    entry.path(kSocketFile), "--cache=writeback", "--object", "secret,id=key,file=" + key_file(plan),
                    "--image-opts", "driver=luks,key-secret=key,file.driver=file,file.filename=" + plan.image}},
          refuse_qemu);
    case Column::Server::dm_crypt:
      break;
  }
  return 0;
}

std::string name_for(pid_t benchmark) { return "benchmark-" + std::to_string(benchmark); }

class ServedBed final : public bench::fs::Bed {
 public:
  ServedBed(const RuntimeDir& runtime, const BedPlan& plan, const Column& column)
      : entry_(make_free_entry(runtime, name_for(getpid()))) {
    try {
      build(plan, column);
    } catch (...) {
      force_down(entry_);  // the destructor of a half-built object does not run
      throw;
    }
  }
  ServedBed(const ServedBed&) = delete;
  ServedBed& operator=(const ServedBed&) = delete;
  ~ServedBed() override { force_down(entry_); }

  const std::string& where() const override { return where_; }
  double server_cpu_seconds() const override {
    constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
    if (state_.server_pid == 0) return kUnknown;  // the kernel's threads serve everybody
    try {
      return bench::cpu_seconds_of(state_.server_pid);
    } catch (const std::exception&) { return kUnknown; }  // it was killed; the load will say so
  }

 private:
  void build(const BedPlan& plan, const Column& column) {
    state_.name = entry_.name();
    state_.image = plan.image;
    state_.type = "benchmark";
    state_.cipher = plan.cipher;
    state_.key_bits = plan.key_bits;
    state_.sector_bytes = plan.sector_bytes;
    if (column.server == Column::Server::dm_crypt)
      map(plan);
    else
      serve(plan, column);
    Interrupts::check();
    where_ = plan.serve_only ? state_.uri : device_of(entry_, state_);
    if (plan.serve_only || plan.raw) return;
    run_or_throw({.argv = make_file_system(plan, where_), .dies_with_us = true});
    Interrupts::check();
    mount_inside(entry_, state_,
                 {.directory = mount_point(plan), .type = plan.file_system, .options = {}, .partition = {}});
    where_ = mount_point(plan);
    Interrupts::check();
  }

  void serve(const BedPlan& plan, const Column& column) {
    state_.uri = unix_uri(entry_.path(kSocketFile));
    entry_.write(state_);
    state_.server_pid = start_column(entry_, plan, column);
    state_.size_bytes = ask_server(state_.uri).bytes;
    entry_.write(state_);
    if (!plan.serve_only) attach(entry_, state_, plan.attach);
  }
  void map(const BedPlan& plan) {
    write_key(plan);
    attach_dm(entry_, state_, key_file(plan));
  }

  Entry entry_;
  State state_;
  std::string where_;
};

}  // namespace

void check_bed(const BedPlan& plan, const Column& column) {
  if (!plan.serve_only) require_attachable(plan.attach);
  if (!column.backend.empty()) modes::choose_backend(column.backend);
  if (column.server == Column::Server::nbdcrypt && !plan.luks1) unlocked_for(plan, column);
  if (column.server == Column::Server::qemu_luks && find_program("qemu-nbd").empty())
    throw Error(Kind::device, "qemu-nbd: no such program, to compare with", 0, "install the package qemu-utils");
  if (plan.serve_only || plan.raw) return;
  static const std::map<std::string, const char*> kPackages = {{"ext2", "e2fsprogs"},
                                                               {"ext3", "e2fsprogs"},
                                                               {"ext4", "e2fsprogs"},
                                                               {"xfs", "xfsprogs"},
                                                               {"btrfs", "btrfs-progs"}};
  const auto package = kPackages.find(plan.file_system);
  if (package == kPackages.end())
    throw Error(Kind::usage, "--fstype " + plan.file_system + ": expected ext2, ext3, ext4, xfs or btrfs");
  if (find_program("mkfs." + plan.file_system).empty())
    throw Error(Kind::device, "mkfs." + plan.file_system + ": no such program", 0,
                std::string("install the package ") + package->second);
}

std::unique_ptr<bench::fs::Bed> make_bed(const RuntimeDir& runtime, const BedPlan& plan, const Column& column) {
  return std::make_unique<ServedBed>(runtime, plan, column);
}

void remove_beds(const RuntimeDir& runtime, pid_t benchmark) {
  const std::string name = name_for(benchmark);
  // Mounting and attaching are let come to their end, and the load may hold the entry until it has ended.
  for (int tries = 0; tries < 50 && glance_if_sound(runtime, name); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    try {
      Entry entry = Entry::find(runtime, name);
      force_down(entry);
    } catch (const Error&) {  // tried again
    }
  }
}

}  // namespace nbdcrypt::cli
