// SPDX-License-Identifier: Apache-2.0
//
// Leaves a weak symbol behind, to show that no_weak_symbols.cmake finds one.
inline int shared_by_all() { return 1; }

int (*take_its_address())() { return shared_by_all; }
