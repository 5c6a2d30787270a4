// SPDX-License-Identifier: Apache-2.0
//
// nbdkit's C API at the version and with the thread model that this plugin keeps: callbacks of one connection may run
// at the same time on several threads (volume::Volume is safe to use so). Source: nbdkit-plugin(3).
#pragma once

#define NBDKIT_API_VERSION 2
#define THREAD_MODEL NBDKIT_THREAD_MODEL_PARALLEL
#include <nbdkit-plugin.h>
