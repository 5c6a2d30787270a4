// SPDX-License-Identifier: Apache-2.0
//
// nbdcrypt-peers: our sectors, modes and packets against others', by turns. `ratio` is our throughput over the peer's.
// With NBDCRYPT_DISABLE_CPU=vaes,avx512 the comparison is that of plain AES-NI.
#include <exception>
#include <functional>
#include <iostream>
#include <stdexcept>

#include "bench/packets/packets.h"
#include "bench/peers/modes.h"
#include "bench/peers/peer.h"
#include "bench/tables/machine.h"
#include "bench/tables/options.h"
#include "bench/tables/output.h"
#include "bench/tables/timing.h"
#include "modes/backend_choice.h"

namespace {

using namespace nbdcrypt;
using bench::Byte;

void require_same_answer(const bench::SectorCase& cell, const modes::SectorCipher& ours, bench::Peer& peer) {
  std::vector<Byte> expected = bench::bench_data(), got = bench::bench_data();
  bench::run_cipher(ours, cell.encrypt, 7, expected);
  peer.run(7, got);
  if (got != expected) throw std::runtime_error(peer.name() + ": " + cell.cipher + ": differs from ours");
}

std::vector<bench::Row> rows_of_cell(const bench::SectorCase& cell, const aes::Backend& backend, double seconds) {
  const auto ours = bench::make_cipher(cell, backend, modes::Offload::batch);
  const std::vector<std::unique_ptr<bench::Peer>> peers = bench::make_peers(cell);
  std::vector<Byte> data = bench::bench_data();
  std::uint64_t sector = 0;
  std::vector<std::function<void()>> passes;
  passes.push_back([&] { bench::run_cipher(*ours, cell.encrypt, sector += cell.sectors(), data); });
  for (const auto& peer : peers) {
    require_same_answer(cell, *ours, *peer);
    passes.push_back([&] { peer->run(sector += cell.sectors(), data); });
  }
  const auto results = bench::measure(passes, data.size(), seconds);
  std::vector<bench::Row> rows;
  for (std::size_t i = 0; i < results.size(); ++i) {
    bench::Row row =
        i == 0 ? cell.row("peers", "nbdcrypt", backend.name) : cell.row("peers", peers[i - 1]->name(), "-");
    bench::set_speed(row, cell, backend.name, results[i].mb_per_s);
    rows.push_back(row.set("ratio", results[0].mb_per_s / results[i].mb_per_s).set("spread", results[i].spread));
  }
  return rows;
}

std::vector<bench::Row> sector_rows(const aes::Backend& backend, double seconds) {
  std::vector<bench::Row> rows;
  for (const bench::SectorCase& cell : bench::sector_cases()) {
    for (bench::Row& row : rows_of_cell(cell, backend, seconds)) rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<bench::Row> rows_of_table(const std::string& table, const aes::Backend& backend, double seconds) {
  if (table == "sectors") return sector_rows(backend, seconds);
  if (table == "modes") return bench::mode_peer_rows(backend, 128, seconds);
  if (table == "packets") return bench::vpn_rows(backend, seconds);
  if (table == "order") return bench::order_rows(backend);
  throw std::runtime_error("table " + table + ": unknown, expected sectors, modes, packets, order");
}

int run(const bench::Options& options) {
  const aes::Backend& backend = modes::choose_backend(options.backend);
  const bench::Row machine = bench::this_machine();
  bench::publish(options.json_file, machine, rows_of_table(options.table, backend, options.seconds));
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const bench::Options options = bench::parse_options(argc, argv);
  if (options.help) {
    std::cout
        << "nbdcrypt-peers [TABLE] [--backend NAME] [--seconds S] [--json FILE]\n"
           "Our best backend (or NAME) and others by turns; NBDCRYPT_DISABLE_CPU binds our side alone. Tables:\n"
           "  sectors   sectors of a volume, OpenSSL, libgcrypt, GnuTLS and ipsec-mb; ratio is ours over the peer's\n"
           "  modes     messages of 16 KiB in all ten modes, OpenSSL and libgcrypt\n"
           "  packets   packets of a VPN in parallel, in order, over independent processes\n"
           "  order     ten million of them\n"
        << bench::kOptionsHelp;
    return 0;
  }
  return run(options);
} catch (const std::exception& error) {
  std::cerr << "nbdcrypt-peers: " << error.what() << '\n';
  return 1;
}
