#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# ppc64el_sysroot.sh FOLDER
#   Unpacks Debian's ppc64el packages that the product is built with and runs with into FOLDER/sys. apt works on lists and a
#   status of its own, so the packages of this system, some of which cannot be installed for two architectures, stay as they are.
set -euo pipefail
wanted=$(cksum <"$0")
mkdir -p "$1" && cd "$1"
folder=$PWD
packages=(nbdkit nbdkit-plugin-dev libcryptsetup-dev libnbd-dev libblkid-dev libssl-dev libfmt-dev nlohmann-json3-dev
  libboost-program-options-dev libstdc++-12-dev)
[ "$(cat sys/complete 2>/dev/null)" != "$wanted" ] || exit 0

mkdir -p apt/lists/partial apt/cache/archives/partial apt/sources
touch apt/status
for sources in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources; do
  [ ! -s "$sources" ] || cp "$sources" "apt/sources/${sources##*/}"
done
[ ! -e apt/sources/sources.list ] || sed -n '/^deb .*debian/p' apt/sources/sources.list >apt/sources/host.list
rm -f apt/sources/sources.list
cat >apt/apt.conf <<END
APT::Architecture "ppc64el";
APT::Architectures { "ppc64el"; };
APT::Install-Recommends "0";
APT::Sandbox::User "root";
Debug::NoLocking "1";
Dir::State "$folder/apt";
Dir::State::lists "$folder/apt/lists";
Dir::State::status "$folder/apt/status";
Dir::Cache "$folder/apt/cache";
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$folder/apt/sources";
END
export APT_CONFIG=$folder/apt/apt.conf
apt-get update -qq || echo "${0##*/}: some lists are missing; going on with the others" >&2
apt-get install -qq -y --download-only "${packages[@]}" >/dev/null

rm -rf sys && mkdir sys
for package in apt/cache/archives/*.deb; do dpkg-deb -x "$package" sys; done
# Links with absolute targets would lead out of the folder.
find sys -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
  target=$(readlink "$link")
  ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "sys$target")" "$link"
done
echo "$wanted" >sys/complete
