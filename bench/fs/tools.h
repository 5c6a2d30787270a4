// SPDX-License-Identifier: Apache-2.0
//
// The real programs in place of our own phases: how they are called, and what they print.
#pragma once

#include <string>
#include <vector>

#include "bench/fs/phases.h"

namespace nbdcrypt::bench::fs {

enum class Tool { own, bonnie, fio };
/// "own", "bonnie++", "fio". Throws base::Error{usage}.
Tool parse_tool(const std::string& name);

/// The program and its arguments, to be run on the file system in load.where.
std::vector<std::string> tool_words(Tool tool, const Workload& load);

/// What it printed, as phases that end at once. fio has writing, reading and seeks. Throws base::Error{format} when it
/// is not understood.
void tell_results(Tool tool, const std::string& output, Observer& observer);

}  // namespace nbdcrypt::bench::fs
