#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs in the VM as root: a real kernel's dm-crypt and NBD client against our plugin. Usage: guest.sh PLUGIN NBDCRYPT
# A cell is one cipher, key size, sector size and numbering of sectors. In each, dm-crypt writes what our server must read and
# our server writes what dm-crypt must read, byte for byte. Prints a line a cell and the number of them; exits with 1 if one differs.
set -uo pipefail
plugin=$1 nbdcrypt=$2
export DM_DISABLE_UDEV=1
work=$(mktemp -d /dev/shm/cells-XXXXXX) && cd "$work" || exit 1
cells=0 failed=0

head -c 64 /dev/urandom >key
head -c 1M /dev/urandom >theirs.raw
head -c 1M /dev/urandom >ours.raw

# What a cell sets: the options of cryptsetup open and of our plugin for image.img, and where in the volume the data lies.
dm_options=() our_options=() at_bytes=0

open_dm() { cryptsetup open "${dm_options[@]}" image.img cell >dm.log 2>&1; }
ours() { # COMMAND with $uri: the megabyte at at_bytes of the volume, served by us
  # The filter named offset would take our option of that name, so it is used only where that one is not.
  local filter=(--filter=truncate truncate=1M)
  [ "$at_bytes" = 0 ] || filter=(--filter=offset offset="$at_bytes" range=1M)
  nbdkit -U - "${filter[0]}" "$plugin" image.img "${our_options[@]}" "${filter[@]:1}" --run "$1"
}

both_ways() {
  open_dm || { cat dm.log; return 1; }
  dd if=theirs.raw of=/dev/mapper/cell bs=1M seek="$at_bytes" oflag=seek_bytes conv=fsync status=none || return 1
  cryptsetup close cell || return 1
  rm -f seen.raw
  ours 'nbdcopy "$uri" seen.raw' || return 1
  cmp theirs.raw seen.raw || return 1
  ours 'nbdcopy ours.raw "$uri"' || return 1
  open_dm || return 1
  dd if=/dev/mapper/cell of=seen.raw bs=1M count=1 skip="$at_bytes" iflag=skip_bytes,fullblock status=none || return 1
  cryptsetup close cell || return 1
  cmp ours.raw seen.raw
}

cell() { # NAME: after the options are set
  cells=$((cells + 1))
  if both_ways; then echo "cell ok: $1"; else
    failed=$((failed + 1))
    echo "cell FAILED: $1"
    cryptsetup close cell 2>/dev/null
  fi
  rm -f image.img
}

luks_cell() { # TYPE CIPHER BITS SECTOR IMAGE_SIZE AT_BYTES
  truncate -s "$5" image.img
  local sector=() layout=()
  [ "$1" = luks2 ] && sector=(--sector-size "$4") layout=(--luks2-metadata-size 16k --luks2-keyslots-size 512k --offset 2048)
  cryptsetup luksFormat -q --type "$1" --cipher "$2" --key-size "$3" "${sector[@]}" "${layout[@]}" \
    --pbkdf pbkdf2 --pbkdf-force-iterations 1000 image.img key >dm.log 2>&1 || cat dm.log
  dm_options=(--key-file key) our_options=(key-file=key) at_bytes=$6
  cell "$1 $2 $3 bits, sectors of $4, at $6"
}

plain_cell() { # CIPHER BITS SECTOR LARGE OFFSET SKIP
  truncate -s 2M image.img
  dm_options=(--type plain --cipher "$1" --key-size "$2" --hash plain --key-file key --keyfile-size $(($2 / 8)) --sector-size "$3" --offset "$5" --skip "$6")
  our_options=(type=plain cipher="$1" key-size="$2" key-file=key keyfile-size=$(($2 / 8)) sector-size="$3" offset="$5" skip="$6")
  [ "$4" = large ] && dm_options+=(--iv-large-sectors) our_options+=(iv-large-sectors=true)
  at_bytes=0
  cell "plain $1 $2 bits, sectors of $3 $4, offset $5, skip $6"
}

dm_cells() {
  for spec in aes-cbc-plain64be aes-cbc-benbi aes-cbc-null aes-cbc-eboiv aes-cbc-plain; do
    for bits in 128 192 256; do luks_cell luks1 $spec $bits 512 4M 0; done
  done
  for spec in aes-xts-plain64be aes-xts-null; do
    for bits in 256 512; do luks_cell luks1 $spec $bits 512 6M 0; done
  done
  for bits in 256 384 512; do
    plain_cell aes-xts-plain64 $bits 512 small 0 0
    plain_cell aes-xts-plain64 $bits 512 small 8 24
    for sector in 1024 2048 4096; do
      plain_cell aes-xts-plain64 $bits $sector small 8 24
      plain_cell aes-xts-plain64 $bits $sector large 8 24
    done
  done
  for iv in plain plain64 plain64be benbi null eboiv essiv:sha256; do
    plain_cell aes-cbc-$iv 128 512 small 0 0
    plain_cell aes-cbc-$iv 192 4096 large 8 16
    plain_cell aes-cbc-$iv 256 4096 small 8 16
  done
  plain_cell aes-ecb 128 512 small 0 0
  plain_cell aes-ecb 256 4096 small 8 0
  # Sectors on both sides of 2^32: by skip, and by their place in a sparse image of more than 2 TiB.
  local across=$(((1 << 32) - 1024))
  for iv in plain plain64 plain64be benbi eboiv essiv:sha256; do plain_cell aes-cbc-$iv 256 512 small 0 $across; done
  plain_cell aes-xts-plain64 512 4096 small 0 $across
  plain_cell aes-xts-plain64 512 4096 large 0 $across
  plain_cell aes-xts-plain 512 512 small 0 $across
  for spec in aes-xts-plain64 aes-xts-plain; do
    for sector in 512 4096; do luks_cell luks2 $spec 512 $sector 2050G $((across * 512)); done
  done
  luks_cell luks2 aes-cbc-essiv:sha256 256 4096 2050G $((across * 512))
  luks_cell luks1 aes-cbc-plain 256 512 2050G $((across * 512))
}

# A file system through the kernel's NBD client: made, filled, unmounted, attached again, compared, checked.
file_system_cell() { # FILE_SYSTEM SECTOR
  cells=$((cells + 1))
  if file_system_works "$1" "$2"; then echo "cell ok: kernel nbd, $1, sectors of $2"; else
    failed=$((failed + 1))
    echo "cell FAILED: kernel nbd, $1, sectors of $2"
    umount mnt 2>/dev/null
    nbd-client -d /dev/nbd0 >/dev/null 2>&1
  fi
  kill "$(cat server.pid)" 2>/dev/null
  rm -f image.img server.pid server.sock
}

attach() { nbd-client -unix "$PWD/server.sock" /dev/nbd0 -b "$1" -C 2 >nbd.log 2>&1 || { cat nbd.log; return 1; }; }

file_system_works() {
  truncate -s 400M image.img
  cryptsetup luksFormat -q --sector-size "$2" --pbkdf pbkdf2 --pbkdf-force-iterations 1000 image.img key || return 1
  nbdkit -U "$PWD/server.sock" -P "$PWD/server.pid" "$plugin" "$PWD/image.img" key-file="$PWD/key" || return 1
  attach "$2" || return 1
  [ "$(blockdev --getss /dev/nbd0)" = "$2" ] || { echo "logical sector size is $(blockdev --getss /dev/nbd0)"; return 1; }
  "mkfs.$1" -q /dev/nbd0 || return 1
  mkdir -p mnt && mount /dev/nbd0 mnt || return 1
  cp -r /usr/share/doc/bash /usr/share/perl5/Debconf ours.raw mnt/ 2>/dev/null
  local before after
  before=$(cd mnt && find . -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum)
  umount mnt && nbd-client -d /dev/nbd0 >/dev/null && attach "$2" && mount /dev/nbd0 mnt || return 1
  after=$(cd mnt && find . -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum)
  [ "$before" = "$after" ] || { echo "files differ after a remount"; return 1; }
  umount mnt || return 1
  case $1 in
    ext4) e2fsck -fn /dev/nbd0 >fsck.log 2>&1 ;;
    xfs) xfs_repair -n /dev/nbd0 >fsck.log 2>&1 ;;
  esac || { cat fsck.log; return 1; }
  nbd-client -d /dev/nbd0 >/dev/null
}

# The benchmark with the kernel's NBD client and dm-crypt, and that nothing of it is left, however it ends.
benchmark=("$nbdcrypt" benchmark fs --dir "$work/bench" --file-size 4M --files 10 --seconds 0.2 --peers -q)
nothing_left() {
  local left
  for _ in $(seq 150); do
    left=$(ls /dev/mapper bench /run/nbdcrypt 2>/dev/null | grep -E '^(nbdcrypt-)?benchmark|^nbdcrypt-'; losetup -a; grep nbdcrypt-benchmark /proc/mounts; cat /sys/block/nbd*/pid 2>/dev/null)
    [ -n "$left" ] || return 0
    sleep 0.1
  done
  echo "left: $left"
  return 1
}
benchmark_measures() {
  "${benchmark[@]}" --runs 1 --json bench.json >bench.log 2>&1 || { cat bench.log; return 1; }
  local column
  for column in "no encryption" "one block at a time" "whole buffer" batch "nbdkit luks filter" "qemu-nbd luks" dm-crypt; do
    [ "$(grep -c "\"column\": \"$column\"" bench.json)" = 9 ] || { echo "column $column"; cat bench.json; return 1; }
  done
  grep -q '"emulated_by": "QEMU TCG"' bench.json && nothing_left
}
benchmark_stops() { # SIGNAL: while its file system is on dm-crypt
  "${benchmark[@]}" --runs 100 >bench.log 2>&1 &
  local pid=$!
  for _ in $(seq 3000); do
    grep -q /dev/mapper/nbdcrypt-benchmark /proc/mounts && break
    kill -0 $pid 2>/dev/null || { cat bench.log; return 1; }
    sleep 0.1
  done
  kill "-$1" $pid
  wait $pid
  nothing_left
}
benchmark_cell() { # WHAT COMMAND...
  cells=$((cells + 1))
  if "${@:2}"; then echo "cell ok: benchmark $1"; else
    failed=$((failed + 1))
    echo "cell FAILED: benchmark $1"
  fi
}

mkdir -p bench
benchmark_cell "with dm-crypt" benchmark_measures
for signal in TERM KILL; do benchmark_cell "on dm-crypt, SIG$signal" benchmark_stops $signal; done
dm_cells
for fs in ext4 xfs; do
  for sector in 512 4096; do file_system_cell $fs $sector; done
done
echo "vm: $cells cells, $failed failed"
[ $failed -eq 0 ]
