#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# accelerators.sh [--json FILE]
#   Executed instructions of AES backends over those of the table cipher on emulated processors, from the builds of
#   ./dev cross: a table for each processor; with --json all rows in one file ("-": to standard output, without the tables).
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
json=
case $# in
  0) ;;
  2) [ "$1" = --json ] && json=$2 ;;
esac
[ $# -eq 0 ] || [ -n "$json" ] || { echo "usage: accelerators.sh [--json FILE]" >&2; exit 1; }
if [ "$json" = - ]; then exec 3>/dev/null; else exec 3>&1; fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# count TARGET EMULATOR...
count() {
  local build=build-cross-$1; shift
  "$@" -plugin "$build/lib/libicount.so,out=$folder/counts" "$build/bin/nbdcrypt-accelerators" --counts "$folder/counts" \
    --json "$folder/rows" --check >&3
  sed -n 's/^ *\({"table".*}\),\{0,1\}$/\1/p' "$folder/rows" >>"$folder/all"
}

status=0
count powerpc-spe qemu-ppc -cpu e500v2 || status=1
count ppc64le qemu-ppc64le -cpu power8 || status=1
count ppc64 qemu-ppc64 -cpu power8 || status=1
count aarch64 qemu-aarch64 -cpu cortex-a57 || status=1
count i686 qemu-i386 -cpu max || status=1

if [ -n "$json" ]; then
  { echo '{"machine": {"emulator": "QEMU user mode"}, "rows": ['; sed '$!s/$/,/' "$folder/all"; echo ']}'; } >"$folder/json"
  if [ "$json" = - ]; then cat "$folder/json"; else cp "$folder/json" "$json"; fi
fi
exit $status
