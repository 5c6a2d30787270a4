// SPDX-License-Identifier: Apache-2.0
#include "bench/fs/tools.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"

namespace nbdcrypt::bench::fs {
namespace {

using base::Error;
using base::Kind;
using nlohmann::json;
using Words = std::vector<std::string>;

// Data as phases of one second: the tools tell rates.
void tell(Observer& observer, Phase phase, double amount_per_second) {
  observer.begin(phase);
  observer.end(phase, amount_per_second, 1);
}

// -r is what bonnie++ takes the memory to be; it insists on a file twice as large.
Words bonnie_words(const Workload& load) {
  const std::uint64_t mib = load.file_bytes >> 20;
  Words words{"bonnie++", "-q", "-d", load.where, "-s", std::to_string(mib) + "M", "-r", std::to_string(mib / 2)};
  words.insert(words.end(), {"-n", std::to_string(load.files / 1024)});
  if (geteuid() == 0) words.insert(words.end(), {"-u", "root:root"});
  return words;
}

// Each phase after the other; --stonewall keeps them apart.
Words fio_words(const Workload& load) {
  Words words{"fio",
              "--output-format=json",
              "--directory=" + load.where,
              "--ioengine=psync",
              "--bs=8k",
              "--size=" + std::to_string(load.file_bytes),
              "--filename=bonnie"};
  if (load.seconds > 0) words.push_back("--runtime=" + std::to_string(static_cast<long>(load.seconds * 1000)) + "ms");
  words.insert(words.end(), {"--name=write", "--rw=write", "--end_fsync=1",                //
                             "--name=read", "--stonewall", "--rw=read", "--invalidate=1",  //
                             "--name=seeks", "--stonewall", "--rw=randrw", "--rwmixread=90", "--invalidate=1",
                             "--time_based", "--runtime=2s"});
  return words;
}

// bon_csv2txt(1), format 1.98: name of host and run, size, then pairs of rate and processor load. Empty or "+++++":
// not run, or too quick to tell.
void tell_bonnie(const std::string& output, Observer& observer) {
  std::istringstream lines(output);
  std::string line;
  while (std::getline(lines, line) && !line.starts_with("1.98,")) {}
  std::vector<std::string> fields;
  std::istringstream rest(line);
  for (std::string field; std::getline(rest, field, ',');) fields.push_back(field);
  constexpr std::pair<Phase, std::size_t> kPlaces[] = {{Phase::putc, 9},    {Phase::rewrite, 13}, {Phase::write, 11},
                                                       {Phase::getc, 15},   {Phase::read, 17},    {Phase::seeks, 19},
                                                       {Phase::create, 26}, {Phase::stat, 28},    {Phase::remove, 30}};
  if (fields.size() < 21) throw Error(Kind::format, "bonnie++: its result is not of format 1.98");
  for (const auto& [phase, place] : kPlaces) {
    const double rate = place < fields.size() ? std::strtod(fields[place].c_str(), nullptr) : 0;
    if (rate > 0) tell(observer, phase, moves_data(phase) ? rate * 1024 : rate);
  }
}

void tell_fio(const std::string& output, Observer& observer) {
  const std::size_t begin = std::min(output.find('{'), output.size());
  const json report = json::parse(output.substr(begin), nullptr, false);
  if (report.is_discarded() || !report.contains("jobs")) throw Error(Kind::format, "fio: its result is not JSON");
  for (const json& job : report.at("jobs")) {
    const std::string name = job.at("jobname");
    if (name == "write") {
      // bw leaves the final fsync out.
      const double bytes = job.at("write").at("io_bytes"), ms = job.at("job_runtime");
      tell(observer, Phase::write, bytes / std::max(ms, 1.0) * 1000);
    }
    if (name == "read") tell(observer, Phase::read, job.at("read").at("bw_bytes").get<double>());
    if (name == "seeks")
      tell(observer, Phase::seeks, job.at("read").at("iops").get<double>() + job.at("write").at("iops").get<double>());
  }
}

}  // namespace

Tool parse_tool(const std::string& name) {
  if (name == "own") return Tool::own;
  if (name == "bonnie++") return Tool::bonnie;
  if (name == "fio") return Tool::fio;
  throw Error(Kind::usage, "--tool " + name + ": expected own, bonnie++ or fio");
}

std::vector<std::string> tool_words(Tool tool, const Workload& load) {
  return tool == Tool::bonnie ? bonnie_words(load) : fio_words(load);
}

void tell_results(Tool tool, const std::string& output, Observer& observer) {
  if (tool == Tool::bonnie) return tell_bonnie(output, observer);
  tell_fio(output, observer);
}

}  // namespace nbdcrypt::bench::fs
