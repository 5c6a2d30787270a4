// SPDX-License-Identifier: Apache-2.0
//
// The load runs in a process of its own, which can be put into a memory group, killed in the middle of a system call,
// and outlived. It tells what it does over a socket; at the end of a phase it waits until that was taken down, so that
// the server's processor time is read between the phases.
#pragma once

#include <functional>

#include "bench/fs/memory_group.h"
#include "bench/fs/phases.h"

namespace nbdcrypt::bench::fs {

/// What runs there; it may throw. Nothing that it changes is seen here.
using Body = std::function<void(Observer&)>;

/// Runs `body` in a child and passes on what it observes. `check` is called between (at least twice a second); when it
/// throws, or the observer does, the child is killed first. Throws base::Error{io} with the child's own words when that
/// failed.
void run_in_worker(const Body& body, const MemoryGroup* group, Observer& observer, const std::function<void()>& check);

}  // namespace nbdcrypt::bench::fs
