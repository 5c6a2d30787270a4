// SPDX-License-Identifier: Apache-2.0
//
// nbdcrypt-peers: our sectors against OpenSSL's and libgcrypt's, by turns in one process. `ratio` is our throughput
// over the peer's. With NBDCRYPT_DISABLE_CPU=vaes,avx512 the comparison is that of plain AES-NI.
#include <exception>
#include <functional>
#include <iostream>
#include <stdexcept>

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
  const std::unique_ptr<bench::Peer> peers[] = {bench::make_openssl(cell), bench::make_libgcrypt(cell)};
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
    row.set("mb_per_s", results[i].mb_per_s).set("cycles_per_byte", bench::cycles_per_byte(results[i].mb_per_s));
    rows.push_back(row.set("ratio", results[0].mb_per_s / results[i].mb_per_s).set("spread", results[i].spread));
  }
  return rows;
}

int run(const bench::Options& options) {
  const aes::Backend& backend = modes::choose_backend(options.backend);
  const bench::Row machine = bench::this_machine();
  std::vector<bench::Row> rows;
  for (const bench::SectorCase& cell : bench::sector_cases()) {
    for (bench::Row& row : rows_of_cell(cell, backend, options.seconds)) rows.push_back(std::move(row));
  }
  bench::publish(options.json_file, machine, rows);
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const bench::Options options = bench::parse_options(argc, argv);
  if (options.help) {
    std::cout << "nbdcrypt-peers [--backend NAME] [--seconds S] [--json FILE]\n"
                 "Encrypts and decrypts sectors by turns with our best backend (or NAME), OpenSSL and libgcrypt;\n"
                 "ratio is ours over the peer's. NBDCRYPT_DISABLE_CPU binds our side alone.\n"
              << bench::kOptionsHelp;
    return 0;
  }
  return run(options);
} catch (const std::exception& error) {
  std::cerr << "nbdcrypt-peers: " << error.what() << '\n';
  return 1;
}
