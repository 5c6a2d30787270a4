#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# ppc64le_product.sh SYSROOT PLUGIN
#   The whole product on another architecture: Debian's nbdkit for ppc64el, emulated, serves a LUKS2 image that cryptsetup made
#   here, and gives back the bytes that went in. Then it writes others, and cryptsetup decrypts those. The calls that the plugin
#   counts must say that AES was done by the backend that was asked for.
set -euo pipefail
sysroot=$(readlink -f "$1") plugin=$(readlink -f "$2")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
die() { echo "ppc64le_product.sh: $*" >&2; exit 1; }

mib=$((1 << 20)) data=8 reserve=32

# serve BACKEND COMMAND: with $uri, against the emulated server
serve() {
  QEMU_LD_PREFIX=$sysroot qemu-ppc64le -cpu power8 "$sysroot/usr/bin/nbdkit" -U - -D crypt.stats=1 -v "$plugin" \
    file=image key-file=key backend="$1" --run "$2" 2>log || { cat log >&2; die "nbdkit failed with $1"; }
  grep "^crypt: $1 xts-" log || { cat log >&2; die "no call of $1 was counted"; }
}

printf 'a key of %s' "$RANDOM$RANDOM" >key
head -c $((data * mib)) /dev/urandom >plaintext
cp plaintext image
truncate -s $(((data + reserve) * mib)) image
cryptsetup reencrypt --encrypt --type luks2 --reduce-device-size ${reserve}M -q --key-file key --pbkdf pbkdf2 \
  --pbkdf-force-iterations 1000 -c aes-xts-plain64 -s 512 --sector-size 4096 image

for backend in power8-vcrypto generic; do
  serve "$backend" 'nbdcopy "$uri" read'
  cmp -n $((data * mib)) plaintext read || die "$backend: what is read differs from what cryptsetup encrypted"
  echo "$backend: $data MiB read as cryptsetup encrypted them"
done

head -c $((data * mib)) /dev/urandom >changed
truncate -s "$(stat -c %s read)" changed
serve power8-vcrypto 'nbdcopy --flush changed "$uri"'
cryptsetup reencrypt --decrypt --header header --force-offline-reencrypt -q --key-file key image
cmp -n $((data * mib)) changed image || die "what cryptsetup decrypts differs from what was written"
echo "power8-vcrypto: $data MiB written as cryptsetup decrypts them"
