// SPDX-License-Identifier: Apache-2.0
#include "cli/client.h"

#include <fmt/format.h>
#include <libnbd.h>

#include <cctype>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>

#include "base/error.h"

namespace nbdcrypt::cli {
namespace {

struct Closer {
  void operator()(nbd_handle* nbd) const noexcept {
    nbd_shutdown(nbd, 0);
    nbd_close(nbd);
  }
};
using Connection = std::unique_ptr<nbd_handle, Closer>;

[[noreturn]] void throw_nbd_error() {
  const int os_error = nbd_get_errno();
  throw base::Error(base::Kind::io, nbd_get_error(), os_error);
}

Connection connect(const std::string& uri) {
  Connection nbd(nbd_create());
  if (!nbd || nbd_connect_uri(nbd.get(), uri.c_str()) == -1) throw_nbd_error();
  return nbd;
}

bool is_plain_in_query(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || std::string_view("/-._~").find(c) != std::string_view::npos;
}

// Columns: Num RefCount Protocol Flags Type St Inode Path. St (linux/net.h): 01 unconnected, which with a path on a
// stream socket means bound or listening (Flags, __SO_ACCEPTCON, tells which); 03 connected. The accepted end of a
// connection carries the path that its server is bound to.
int sockets_at(const std::string& socket_path, std::string_view wanted_state) {
  constexpr unsigned long kAcceptsConnections = 0x10000;
  std::ifstream table("/proc/net/unix");
  int count = 0;
  for (std::string line; std::getline(table, line);) {
    std::istringstream columns(line);
    std::string skipped, flags, state, path;
    columns >> skipped >> skipped >> skipped >> flags >> skipped >> state >> skipped >> std::ws;
    std::getline(columns, path);
    if (state != wanted_state || path != socket_path) continue;
    if (state == "01" && (std::stoul(flags, nullptr, 16) & kAcceptsConnections) == 0) continue;
    ++count;
  }
  return count;
}

}  // namespace

std::string unix_uri(const std::string& socket_path) {
  std::string uri = "nbd+unix:///?socket=";
  for (const char c : socket_path) {
    if (is_plain_in_query(c))
      uri += c;
    else
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

Export ask_server(const std::string& uri) {
  const Connection nbd = connect(uri);
  const std::int64_t bytes = nbd_get_size(nbd.get());
  const int read_only = nbd_is_read_only(nbd.get());
  if (bytes < 0 || read_only < 0) throw_nbd_error();
  return {static_cast<std::uint64_t>(bytes), read_only != 0};
}

void flush_server(const std::string& uri) {
  const Connection nbd = connect(uri);
  if (nbd_can_flush(nbd.get()) == 1 && nbd_flush(nbd.get(), 0) == -1) throw_nbd_error();
}

bool is_listening(const std::string& socket_path) { return sockets_at(socket_path, "01") != 0; }

int connections_to(const std::string& socket_path) { return sockets_at(socket_path, "03"); }

}  // namespace nbdcrypt::cli
