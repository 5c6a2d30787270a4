// SPDX-License-Identifier: Apache-2.0
//
// One line for each option of a command.
#pragma once

#include "cli/command.h"

namespace nbdcrypt::cli {

/// An option with a value of type T: add_value<std::string>(options, "cipher,c", "SPEC", "what it is for").
template <class T>
void add_value(po::options_description& options, const char* names, const char* value, const char* help) {
  options.add_options()(names, po::value<T>()->value_name(value), help);
}

/// An option that is given or not.
inline void add_flag(po::options_description& options, const char* names, const char* help) {
  options.add_options()(names, po::bool_switch(), help);
}

}  // namespace nbdcrypt::cli
