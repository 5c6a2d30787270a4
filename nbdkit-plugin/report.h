// SPDX-License-Identifier: Apache-2.0
//
// What the plugin says about itself: to `nbdkit --dump-plugin`, and to `nbdkit -D crypt.stats=1` when the server ends.
#pragma once

#include <string>

namespace nbdcrypt::plugin {

/// Lines NAME=VALUE: crypt_types, crypt_backends (those that run here, best first), crypt_backend_default, and
/// crypt_backends_not_here (built, but not for this processor, or masked by NBDCRYPT_DISABLE_CPU).
std::string capabilities();

/// A line for each backend and operation that was called: "crypt: BACKEND OP: N offload calls, M block calls".
std::string call_counts();

}  // namespace nbdcrypt::plugin
