// SPDX-License-Identifier: Apache-2.0
//
// The benchmarks run and write what a program can read. How fast anything is never decides a test.
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tests/support/process.h"
#include "tests/support/requires.h"

namespace nbdcrypt::test {
namespace {

using nlohmann::json;

std::string program(const std::string& name) {
  const std::string self = NBDCRYPT_PROGRAM;
  return self.substr(0, self.rfind('/') + 1) + name;
}

json rows_of(const std::string& output, const std::string& table) {
  const json report = json::parse(output);
  EXPECT_FALSE(report.at("machine").at("processor").get<std::string>().empty());
  for (const json& row : report.at("rows")) {
    EXPECT_EQ(row.at("table"), table);
    EXPECT_GT(row.at("mb_per_s").get<double>(), 0) << row;
    EXPECT_GT(row.at("ratio").get<double>(), 0) << row;
    EXPECT_GE(row.at("spread").get<double>(), 0) << row;
  }
  return report.at("rows");
}

TEST(BenchTables, OneRowForEachCellAndOffloadLevel) {
  const json rows =
      rows_of(check({program("nbdcrypt-tables"), "--backend", "generic", "--seconds", "0", "--json", "-"}), "sectors");
  EXPECT_EQ(rows.size(), 6u * 2 * 2 * 4);  // batch twice: in the second-level cache and in memory
  for (const json& row : rows) {
    EXPECT_EQ(row.at("backend"), "generic");
    EXPECT_FALSE(row.contains("fraction_of_limit")) << row;  // it has no AES instruction
  }
}

TEST(BenchTables, AesInstructionsHaveALimit) {
  const Result result = run({program("nbdcrypt-tables"), "--backend", "x86-aesni", "--seconds", "0", "--json", "-"});
  NBDCRYPT_REQUIRE(result.exit_code == 0, "a processor with AES-NI: " + result.err);
  const json rows = rows_of(result.out, "sectors");
  for (const json& row : rows) EXPECT_GT(row.at("fraction_of_limit").get<double>(), 0) << row;
}

TEST(BenchTables, UnknownBackendIsRefusedByName) {
  const Result result = run({program("nbdcrypt-tables"), "--backend", "abacus"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("abacus"), std::string::npos);
}

TEST(BenchTables, UnknownOptionAndBadNumberAreRefused) {
  EXPECT_EQ(run({program("nbdcrypt-tables"), "--fast"}).exit_code, 1);
  EXPECT_EQ(run({program("nbdcrypt-tables"), "--seconds", "soon"}).exit_code, 1);
  EXPECT_EQ(run({program("nbdcrypt-tables"), "--seconds"}).exit_code, 1);
}

TEST(BenchPeers, EveryLibraryHasTheCellsThatItCan) {
  NBDCRYPT_REQUIRE(access(program("nbdcrypt-peers").c_str(), X_OK) == 0, "nbdcrypt-peers, built where its peers are");
  const json rows = rows_of(check({program("nbdcrypt-peers"), "--seconds", "0", "--json", "-"}), "peers");
  std::map<std::string, int> cells;
  for (const json& row : rows) {
    const std::string library = row.at("library");
    ++cells[library.substr(0, library.find(' '))];
  }
  for (const char* always : {"nbdcrypt", "openssl", "libgcrypt"}) EXPECT_EQ(cells[always], 6 * 2 * 2) << always;
  for (const char* optional : {"gnutls", "ipsec-mb"}) {  // no ECB, no XTS
    if (cells.count(optional) != 0) { EXPECT_EQ(cells[optional], 4 * 2 * 2) << optional; }
  }
}

}  // namespace
}  // namespace nbdcrypt::test
