#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs in the VM as root: the file system benchmark in memory, its table and its JSON on the console.
# Usage: vm_guest.sh NBDCRYPT [OPTION of benchmark fs...]
set -uo pipefail
nbdcrypt=$1
shift
export DM_DISABLE_UDEV=1
# A memory controller, by which the page cache of the load alone is limited.
mount -t cgroup2 cgroup /sys/fs/cgroup && echo +memory >/sys/fs/cgroup/cgroup.subtree_control

# Through a pipe, so that progress is told by lines, if at all.
"$nbdcrypt" benchmark fs --dir /dev/shm --json /run/fs.json "$@" 2>&1 | cat || exit 1
echo JSON-BEGIN
cat /run/fs.json
echo JSON-END
