// SPDX-License-Identifier: Apache-2.0
//
// What `open` and `mount` do alike: from an unlocked volume to one that is served and attached.
#pragma once

#include <string>

#include "cli/attach.h"
#include "cli/entry.h"
#include "cli/interrupt.h"
#include "volume/open.h"

namespace nbdcrypt::cli {

/// Adds --attach.
void add_attach_options(po::options_description& options);
AttachChoice attach_choice(const Arguments& arguments);

/// volume_options() with absolute paths: the server runs in another folder, and the state outlives this command.
volume::OpenOptions absolute_options(const Arguments& arguments, const std::string& image);

/// Throws Error{busy} when NAME is open, {usage} when it will not do. Called before the passphrase is asked for.
void refuse_if_open(const RuntimeDir& runtime, const std::string& name);
/// Throws Error{busy} when the image is being served, by whomever.
void refuse_if_locked(const volume::OpenOptions& options);
/// The same, with "IMAGE: already open as NAME" when it is by a server of this runtime folder.
void refuse_if_served(const RuntimeDir& runtime, const volume::OpenOptions& options);

/// Adds --name.
void add_name_option(po::options_description& options);
/// --name, else one after the image's: "disk.img", "disk.img-2". Throws Error{usage} for a name that will not do.
std::string name_to_take(const Arguments& arguments, const RuntimeDir& runtime, const volume::OpenOptions& options);

/// An entry for NAME without anything in it: what an unfinished or stale one left behind is taken down. Throws
/// Error{busy} when it is open.
Entry make_free_entry(const RuntimeDir& runtime, const std::string& name);

/// A volume on its way up. Unless it is kept, it is taken down again, wherever it had got to.
class Opening {
 public:
  /// Makes the entry and starts its server. Throws Error{busy} when NAME was opened meanwhile.
  Opening(const RuntimeDir& runtime, const std::string& name, const volume::OpenOptions& options,
          const volume::Unlocked& unlocked);
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;
  ~Opening();

  const Entry& entry() const noexcept { return entry_; }
  State& state() noexcept { return state_; }
  /// Where it is to be found, for standard output: "uri: ..." and "path: ..." lines.
  std::string whereabouts() const;
  void keep() noexcept { kept_ = true; }

 private:
  Interrupts interrupts_;  // from the first step on
  Entry entry_;
  State state_;
  bool kept_ = false;
};

}  // namespace nbdcrypt::cli
