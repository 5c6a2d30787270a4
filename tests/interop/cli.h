// SPDX-License-Identifier: Apache-2.0
//
// The command line program as its users run it.
#pragma once

#include <string>

#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace nbdcrypt::test {

/// Runs nbdcrypt with our plugin beside it.
Result nbdcrypt_cli(const Args& args, const std::string& input = {});

/// What follows "nbdcrypt: " in the last line that begins so; empty when there is none.
std::string message_of(const Result& result);

/// A volume that `nbdcrypt open` serves; closed at the end.
class OpenVolume {
 public:
  OpenVolume(const std::string& image, const Args& options);
  OpenVolume(const OpenVolume&) = delete;
  OpenVolume& operator=(const OpenVolume&) = delete;
  ~OpenVolume();
  const Result& opened() const { return opened_; }
  /// Where it is served.
  std::string uri() const;
  /// Closes it now.
  Result close();

 private:
  TempDir runtime_;
  Result opened_;
  bool open_;
};

}  // namespace nbdcrypt::test
