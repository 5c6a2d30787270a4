// SPDX-License-Identifier: Apache-2.0
//
// The server process: nbdkit with our plugin. The command line has unlocked the volume by then; the volume key goes to
// nbdkit through an inherited pipe (volume-key-file=/proc/self/fd/N), never through arguments, environment or disk, and
// the server verifies it once more against the header's digest.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/entry.h"
#include "cli/process.h"
#include "volume/open.h"

namespace nbdcrypt::cli {

/// The program: $NBDKIT, else "nbdkit" of the PATH.
std::string nbdkit_program();

/// The plugin: $NBDCRYPT_PLUGIN, else ../lib/nbdkit-crypt-plugin.so beside this executable, else in nbdkit's own folder
/// of plugins. Throws Error{device} that names the places.
std::string find_plugin();

/// The pipe with the key in it, its other end closed. Inherit it, and name it in the server's arguments.
volume::FileDescriptor key_pipe(const base::SecretBuffer& volume_key);

/// The plugin and its parameters: file, type and so on as the options say; "volume-key-file=/proc/self/fd/KEY_FD".
std::vector<std::string> plugin_words(const volume::OpenOptions& options, const volume::Unlocked& unlocked, int key_fd);

/// Starts nbdkit in the background, listening at NAME/nbd.sock, and returns once it serves. Throws Error{busy} when the
/// image was taken meanwhile, {io} with nbdkit's own words. `more`: further options of nbdkit.
pid_t start_server(const Entry& entry, const volume::OpenOptions& options, const volume::Unlocked& unlocked,
                   const std::vector<std::string>& more = {});

/// "nbdkit", listening at NAME/nbd.sock; what it serves follows.
std::vector<std::string> nbdkit_words(const Entry& entry);

/// Starts any server that puts itself into the background, listens at NAME/nbd.sock and writes NAME/server.pid, and
/// returns once it serves. `refuse` throws when its first process fails. Throws Error{io} when it ends or does nothing.
pid_t start_in_entry(const Entry& entry, Program program, const std::function<void(const Outcome&)>& refuse);

/// Ends it and waits until it has let go of the image. Requests that it has begun are finished; after `patience` it is
/// killed, as nbdkit would wait for idle clients for ever. Does nothing when it has ended. Throws Error{io} when it
/// does not end.
void stop_server(const Entry& entry, std::chrono::milliseconds patience);

/// Asks the process of `role`, whose number is in `pid_file`, to end, and kills it after `patience`. False when it
/// still lives then.
bool end_process(const Entry& entry, Role role, const char* pid_file, std::chrono::milliseconds patience);

/// What nbdkit's error output says, without its prefixes, in one line.
std::string complaint_of(const std::string& nbdkit_errors);

}  // namespace nbdcrypt::cli
