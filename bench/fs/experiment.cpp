// SPDX-License-Identifier: Apache-2.0
#include "bench/fs/experiment.h"

#include <limits>

namespace nbdcrypt::bench::fs {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Takes the figures of one turn.
class Taker final : public Observer {
 public:
  Taker(const Bed& bed, bool cpu_per_phase, const Follower& follower)
      : bed_(bed), cpu_per_phase_(cpu_per_phase), follower_(follower) {}

  void begin(Phase phase) override {
    phase_ = phase;
    cpu_before_ = bed_.server_cpu_seconds();
  }
  void step(std::uint64_t done_bytes) override { follower_.step(phase_, done_bytes); }
  void end(Phase phase, double amount, double seconds) override {
    const double cpu = bed_.server_cpu_seconds() - cpu_before_;
    const bool told = moves_data(phase) && cpu_per_phase_;
    samples_.push_back({phase, (moves_data(phase) ? amount / 1024 : amount) / seconds,
                        told ? cpu / (amount / 1e9) : kUnknown, seconds});
  }
  std::vector<Sample> samples() const { return samples_; }

 private:
  const Bed& bed_;
  bool cpu_per_phase_;
  const Follower& follower_;
  Phase phase_ = Phase::putc;
  double cpu_before_ = 0;
  std::vector<Sample> samples_;
};

std::string words_of(modes::Offload offload) {
  switch (offload) {
    case modes::Offload::off:
      return "one block at a time";
    case modes::Offload::buffer:
      return "whole buffer";
    default:
      return "batch";
  }
}

}  // namespace

std::vector<Column> columns_for(const std::string& first, const std::vector<std::string>& more, bool peers) {
  using Server = Column::Server;
  std::vector<Column> columns{{.name = "no encryption", .server = Server::nbdkit_file}};
  for (const modes::Offload offload : {modes::Offload::off, modes::Offload::buffer, modes::Offload::batch})
    columns.push_back({.name = words_of(offload), .offload = offload, .backend = first});
  for (const std::string& backend : more) columns.push_back({.name = "batch, " + backend, .backend = backend});
  if (peers) {
    columns.push_back({.name = "nbdkit luks filter", .server = Server::nbdkit_luks});
    columns.push_back({.name = "qemu-nbd luks", .server = Server::qemu_luks});
    columns.push_back({.name = "dm-crypt", .server = Server::dm_crypt});
  }
  return columns;
}

Samples compare(const std::vector<Column>& columns, int rounds, const MakeBed& make_bed, const MakeBody& make_body,
                const MemoryGroup* group, bool cpu_per_phase, const Follower& follower) {
  Samples samples(columns.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::size_t turn = (i + static_cast<std::size_t>(round)) % columns.size();
      follower.begin(round, columns[turn]);
      const std::unique_ptr<Bed> bed = make_bed(columns[turn]);
      Taker taker(*bed, cpu_per_phase, follower);
      run_in_worker(make_body(bed->where()), group, taker, follower.check);
      samples[turn].push_back(taker.samples());
    }
  }
  return samples;
}

}  // namespace nbdcrypt::bench::fs
