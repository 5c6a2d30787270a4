// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>

#include <string>

namespace nbdcrypt::volume {

/// Who holds a lock that F_OFD_GETLK reported on the file of `fd`: "NAME (process N)". The kernel names no process for
/// open-file-description locks, so they are looked up in /proc/*/fdinfo (proc(5), "lock:"); "another process" when it
/// is not there to be seen (another user's, another PID namespace, a network peer). Of several the lowest process
/// number.
std::string lock_holder(int fd, const struct flock& lock);

}  // namespace nbdcrypt::volume
