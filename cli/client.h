// SPDX-License-Identifier: Apache-2.0
//
// The little that the command line itself asks of a server over NBD.
#pragma once

#include <cstdint>
#include <string>

namespace nbdcrypt::cli {

/// "nbd+unix:///?socket=PATH", with the path percent-encoded where it must be.
std::string unix_uri(const std::string& socket_path);

struct Export {
  std::uint64_t bytes = 0;
  bool read_only = false;
};
/// What is served there. Throws Error{io}.
Export ask_server(const std::string& uri);

/// Makes everything durable that was written so far, over whichever connection. Throws Error{io} with the server's
/// errno.
void flush_server(const std::string& uri);

/// True when somebody listens at this socket.
bool is_listening(const std::string& socket_path);
/// Established connections to the server that listens at this socket.
int connections_to(const std::string& socket_path);

}  // namespace nbdcrypt::cli
