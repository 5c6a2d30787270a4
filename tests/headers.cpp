// SPDX-License-Identifier: Apache-2.0
//
// Nothing of its own: it carries the headers that the tests share precompiled.
int main() {}
