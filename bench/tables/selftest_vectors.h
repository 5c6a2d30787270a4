// SPDX-License-Identifier: Apache-2.0
//
// The texts of tests/vectors/*.vec, which the build puts into the program.
#pragma once

namespace nbdcrypt::bench::vectors {

extern const char* const sp800_38a;
extern const char* const xts_ieee1619;
extern const char* const ccm_sp800_38c;
extern const char* const ccm_rfc3610;
extern const char* const eax;
extern const char* const gcm;
extern const char* const ocb_rfc7253;

}  // namespace nbdcrypt::bench::vectors
