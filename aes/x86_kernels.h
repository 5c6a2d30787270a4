// SPDX-License-Identifier: Apache-2.0
//
// What all x86 backends with AES instructions are made of.
#pragma once

#include "aes/vector_kernels.h"
#include "aes/x86_block.h"
#include "aes/x86_expand_key.h"
