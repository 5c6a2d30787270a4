// SPDX-License-Identifier: Apache-2.0
#include "cli/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/process.h"

namespace nbdcrypt::cli {
namespace {

// The digits that end "/dev/loop0p12".
std::uint32_t number_of(const std::string& node) {
  const auto last = std::find_if_not(node.rbegin(), node.rend(), [](unsigned char c) { return std::isdigit(c); });
  const std::string digits(last.base(), node.end());
  return digits.empty() ? 0 : static_cast<std::uint32_t>(std::stoul(digits));
}

}  // namespace

std::vector<Partition> partitions_on(const std::string& device) {
  const std::string text = run_or_throw({.argv = {"sfdisk", "-J", device}});
  std::vector<Partition> partitions;
  try {
    const auto table = nlohmann::json::parse(text).at("partitiontable");
    const std::uint64_t sector_bytes = table.value("sectorsize", 512u);
    for (const auto& p : table.value("partitions", nlohmann::json::array())) {
      partitions.push_back({number_of(p.at("node")), p.at("start").get<std::uint64_t>() * sector_bytes,
                            p.at("size").get<std::uint64_t>() * sector_bytes});
    }
  } catch (const std::exception& e) { throw base::Error(base::Kind::io, "sfdisk: " + device + ": " + e.what()); }
  return partitions;
}

Partition find_partition(const std::string& device, std::uint32_t number) {
  const std::vector<Partition> partitions = partitions_on(device);
  for (const Partition& partition : partitions) {
    if (partition.number == number) return partition;
  }
  throw base::Error(base::Kind::usage, fmt::format("no partition {}; there are: {}", number, list_of(partitions)));
}

std::string list_of(const std::vector<Partition>& partitions) {
  std::string text;
  for (const Partition& p : partitions) {
    text += fmt::format("{}{} ({} KiB)", text.empty() ? "" : ", ", p.number, p.bytes / 1024);
  }
  return text.empty() ? "none" : text;
}

}  // namespace nbdcrypt::cli
