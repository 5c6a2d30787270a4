#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# `cmake --install` puts the programs where the shell and nbdkit find them: installs to /usr in a mount namespace of its own,
# over an overlay in memory, and calls everything by name. Usage: install_test.sh BUILD_FOLDER
set -euo pipefail
build=$(realpath "$1")
if [ "${2:-}" != inside ]; then
  exec unshare --mount ${UNSHARE_USER:+--map-root-user} "$0" "$build" inside
fi

mkdir -p /dev/shm && layer=$(mktemp -d /dev/shm/nbdcrypt-install-XXXXXX)
mount -t tmpfs tmpfs "$layer" && mkdir "$layer/upper" "$layer/work"
mount -t overlay overlay -o "lowerdir=/usr,upperdir=$layer/upper,workdir=$layer/work" /usr
trap 'umount -l /usr "$layer"; rmdir "$layer"' EXIT

cmake --install "$build" --prefix /usr >/dev/null
cd "$layer"
nbdcrypt --version
nbdcrypt-tables --help >/dev/null
nbdkit crypt --dump-plugin | grep -q '^name=crypt$'
printf secret >key
nbdcrypt luksFormat -q --size 20M --pbkdf pbkdf2 --pbkdf-force-iterations 1000 disk.img key
size=$(nbdkit -U - crypt disk.img key-file=key --run 'nbdinfo --size "$uri"')
[ "$size" -eq $((4 * 1024 * 1024)) ] || { echo "the volume has $size bytes"; exit 1; }
export NBDCRYPT_RUNTIME_DIR=$layer/run && mkdir -m 700 run
nbdcrypt open --attach none --key-file key disk.img x >/dev/null
nbdcrypt close x
for page in nbdcrypt.8 nbdcrypt-open.8 nbdkit-crypt-plugin.1; do
  [ -s "/usr/share/man/man${page##*.}/$page" ] || { echo "no manual page $page"; exit 1; }
done
echo "installed: $(cd upper && find . -type f | wc -l) files"
