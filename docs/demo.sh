#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The main job on a real image, one line a step: format, open over NBD, make a file system, mount, copy a tree, unmount, open
# again, compare; then cryptsetup alone decrypts the image and must find the same plaintext. No device-mapper anywhere.
# Run by ./dev demo. Leaves nothing behind.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
nbdcrypt=$root/build/bin/nbdcrypt
work=$(mktemp -d "${TMPDIR:-/tmp}/nbdcrypt-demo-XXXXXX")
export NBDCRYPT_RUNTIME_DIR=$work/run PATH=$PATH:/usr/sbin:/sbin
step=0
say() { step=$((step + 1)); printf '%2d. %s\n' "$step" "$*"; }
clean_up() {
  "$nbdcrypt" umount "$work/mnt" 2>/dev/null || true
  "$nbdcrypt" close demo 2>/dev/null || true
  rm -rf "$work"
}
trap clean_up EXIT
checksums() { (cd "$1" && find . -type f ! -path './lost+found/*' -print0 | sort -z | xargs -0 sha256sum | sha256sum); }
cd "$work"
mkdir run mnt tree && chmod 700 run
cp -r "$root/aes" "$root/modes" "$root/volume" "$root/README.md" tree/
printf 'correct horse battery staple' >key

say "format a LUKS2 image of 256 MiB with argon2id: nbdcrypt luksFormat --size 256M disk.img key"
"$nbdcrypt" luksFormat -q --size 256M --pbkdf-memory 262144 disk.img key >/dev/null
say "cryptsetup agrees that it is LUKS2: $(cryptsetup luksDump disk.img | awk '/^\t*cipher:|^\tcipher/{c=$2} /sector:/{s=$2} /PBKDF:/{p=$2} END{print c, s "-byte sectors,", p}')"

say "open it over NBD: nbdcrypt open disk.img demo"
"$nbdcrypt" open --key-file key disk.img demo >/dev/null
say "make ext4 through it: mkfs.ext4 $(basename "$work")/run/demo/dev"
mkfs.ext4 -q "$work/run/demo/dev"
say "close it: nbdcrypt close demo"
"$nbdcrypt" close demo >/dev/null

say "mount it: nbdcrypt mount disk.img mnt"
"$nbdcrypt" mount --key-file key disk.img mnt >/dev/null
say "copy a tree of $(find tree -type f | wc -l) files into it, and unmount: nbdcrypt umount mnt"
cp -r tree/. mnt/
"$nbdcrypt" umount mnt >/dev/null

say "mount it again, read-only, and compare checksums"
"$nbdcrypt" mount --readonly --key-file key disk.img mnt >/dev/null
[ "$(checksums tree)" = "$(checksums mnt)" ] || { echo 'demo: the files differ' >&2; exit 1; }
"$nbdcrypt" umount mnt >/dev/null

say "decrypt a copy with cryptsetup alone: cryptsetup reencrypt --decrypt"
"$nbdcrypt" copy --key-file key disk.img ours.raw >/dev/null
cp --sparse=always disk.img theirs.raw
cryptsetup reencrypt --decrypt --header header.img --force-offline-reencrypt -q --key-file key theirs.raw >/dev/null
cmp --bytes="$(stat -c %s ours.raw)" ours.raw theirs.raw || { echo 'demo: cryptsetup sees another plaintext' >&2; exit 1; }
say "the plaintext is the same, $(stat -c %s ours.raw) bytes; and its file system is clean: $(e2fsck -fn theirs.raw 2>/dev/null | tail -1)"
