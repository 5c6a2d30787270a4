#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Boots Debian's own kernel under QEMU (TCG, no KVM) on this machine's root file system, which the guest sees read-only through
# 9p under a writable overlay in memory, and runs a script there as root. The machine's own kernel needs neither nbd nor
# device-mapper. Usage: boot.sh WORK_FOLDER GUEST_SCRIPT [ARGUMENT...]; needs qemu-system-x86 busybox-static kmod cpio.
# The console goes to standard output; the exit code is the script's. The kernel package is downloaded once, by its exact name.
set -euo pipefail
export PATH=$PATH:/usr/sbin:/sbin
for tool in qemu-system-x86_64 busybox modprobe cpio mkfs.xfs nbd-client; do
  command -v "$tool" >/dev/null || { echo "vm: $tool is missing"; exit 1; }
done
work=$(realpath "$1") script=$(realpath "$2")
shift 2
cd "$work"

if [ ! -d root/boot ]; then
  package=$(apt-cache depends linux-image-amd64 | awk '/Depends:/{print $2; exit}')
  apt-get download -qq -o APT::Sandbox::User=root "$package"
  rm -rf root.part && dpkg-deb -x "$package"_*.deb root.part && rm "$package"_*.deb
  depmod -b "$PWD/root.part" "$(ls root.part/lib/modules)"
  mv root.part root
fi
kernel=$(ls root/lib/modules)

rm -rf initrd && mkdir -p initrd/bin initrd/modules
cp "$(command -v busybox)" initrd/bin/busybox
number=100
for module in 9p 9pnet_virtio virtio_pci overlay nbd dm-crypt loop ext4 xfs xts cbc ecb essiv aesni_intel; do
  modprobe -d "$PWD/root" -S "$kernel" --show-depends "$module" | awk '/^insmod/{print $2}'
done | awk '!seen[$0]++' | while read -r file; do
  number=$((number + 1))
  cp "$file" "initrd/modules/${number}_$(basename "$file")"
done
{
  echo '#!/bin/sh'
  echo 'export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C'
  printf 'exec /bin/bash %q' "$script"
  [ $# -eq 0 ] || printf ' %q' "$@"
  echo
} >initrd/guest
cat >initrd/init <<'INIT'
#!/bin/busybox sh
b=/bin/busybox
$b mkdir -p /proc /sys /dev /newroot /overlay /lower
$b mount -t proc proc /proc; $b mount -t sysfs sysfs /sys; $b mount -t devtmpfs dev /dev
for m in /modules/*; do $b insmod $m || echo "boot: insmod $m failed"; done
$b mount -t 9p -o trans=virtio,version=9p2000.L,msize=1048576,ro,cache=loose host /lower
$b mount -t tmpfs overlay /overlay; $b mkdir -p /overlay/upper /overlay/work
$b mount -t overlay -o lowerdir=/lower,upperdir=/overlay/upper,workdir=/overlay/work root /newroot
$b mount -t devtmpfs dev /newroot/dev
$b mount -t tmpfs tmpfs /newroot/run
$b mount -t sysfs sysfs /newroot/sys; $b mount -t proc proc /newroot/proc
$b mkdir -p /newroot/dev/shm; $b mount -t tmpfs -o size=90% shm /newroot/dev/shm
$b ip link set lo up
$b cp /guest /newroot/run/guest
$b chroot /newroot /bin/sh /run/guest </dev/null
echo "GUEST-EXIT $?"
$b poweroff -f
INIT
chmod +x initrd/init
(cd initrd && find . | cpio -o -H newc 2>/dev/null | gzip -1) >initrd.gz

timeout "${VM_SECONDS:-900}" qemu-system-x86_64 -accel tcg,thread=multi -smp 2 -cpu max -m 3072 -nic none \
  -kernel "root/boot/vmlinuz-$kernel" -initrd initrd.gz -nographic -no-reboot \
  -fsdev local,id=f,path=/,security_model=none,readonly=on,multidevs=remap -device virtio-9p-pci,fsdev=f,mount_tag=host \
  -append 'console=ttyS0 panic=-1 quiet loglevel=3' </dev/null | stdbuf -oL tr -d '\r' | tee console.log
exit "$(awk '/^GUEST-EXIT /{code=$2} END{print code == "" ? 99 : code}' console.log)"
