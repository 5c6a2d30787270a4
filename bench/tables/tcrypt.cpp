// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "aes/registry.h"
#include "bench/tables/mode_work.h"
#include "bench/tables/tables.h"

namespace nbdcrypt::bench {
namespace {

/// The baseline.
const aes::Backend& table_cipher() {
  const aes::Backend* const backend = aes::by_name("table");
  if (backend == nullptr) throw std::runtime_error("backend table: not in this build");
  return *backend;
}

std::string column_of(const ModeCell& cell) {
  std::string name = cell.mode + "_" + name_of(cell.work);
  for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return name;
}

}  // namespace

std::vector<Row> tcrypt_rows(const aes::Backend& backend, const Meter& meter) {
  std::vector<Row> rows;
  for (const std::size_t key_bits : {128u, 192u, 256u}) {
    for (const std::size_t bytes : {16u, 64u, 256u, 1024u, 8192u}) {
      Row row;
      row.set("table", "tcrypt").set("backend", backend.name).set("baseline", "table").set("unit", meter.unit());
      row.set("key_bits", key_bits).set("bytes", bytes);
      for (const char* mode : {"ECB", "CBC", "CTR", "XTS"}) {
        for (const Work work : {Work::encrypt, Work::decrypt}) {
          const ModeCell cell{mode, key_bits, work};
          const Pass ours = make_pass(cell, backend), baseline = make_pass(cell, table_cipher());
          const auto costs = meter.costs({[&] { ours(bytes); }, [&] { baseline(bytes); }});
          row.set(column_of(cell), costs[1] / costs[0]);
        }
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::vector<Row> packets_rows(const aes::Backend& backend, const Meter& meter) {
  std::vector<Row> rows;
  for (const std::size_t packet : {1420u, 128u}) {
    // ESP fills up to whole blocks behind two bytes of trailer (RFC 4303, 2.4).
    const std::size_t bytes = (packet + 2 + 15) / 16 * 16;
    for (const Work work : {Work::encrypt, Work::decrypt}) {
      const ModeCell cell{"CBC", 256, work};
      const Pass ours = make_pass(cell, backend), baseline = make_pass(cell, table_cipher());
      const auto costs = meter.costs({[&] { ours(bytes); }, [&] { baseline(bytes); }});
      Row row = cell.row("packets", "nbdcrypt", backend.name);
      row.set("baseline", "table").set("packet_bytes", packet);
      meter.describe(row, costs[0] / static_cast<double>(bytes));
      rows.push_back(row.set("ratio", costs[1] / costs[0]));
    }
  }
  return rows;
}

}  // namespace nbdcrypt::bench
