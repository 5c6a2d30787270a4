// SPDX-License-Identifier: Apache-2.0
//
// Timing on a machine that is never quite quiet. Time is the processor time of the one thread that works. Contestants
// take turns in short runs, so that what disturbs a run hits all of them alike; the figure of each is the median of its
// runs, and how far the runs lie apart is part of the result.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace nbdcrypt::bench {

struct Measurement {
  double mb_per_s = 0;  // median; MB are 10^6 bytes
  double spread = 0;    // (third quartile - first quartile) / median
  std::size_t runs = 0;
};

/// Median and spread of `mb_per_s`, one figure per run. At least one.
Measurement summarise(std::vector<double> mb_per_s);

/// Times every function, which works on `bytes_per_pass` bytes a call, for about `seconds_each` in all. Each is called
/// a few times before, to find how many passes a run takes. The results are in the order of the contestants.
std::vector<Measurement> measure(const std::vector<std::function<void()>>& contestants, std::size_t bytes_per_pass,
                                 double seconds_each);

/// Nanoseconds of a call, from one run of about `seconds`.
double ns_a_call(const std::function<void()>& pass, double seconds);

/// Calls again and again for at least `seconds`.
struct Repeated {
  std::size_t passes;
  double seconds;
};
Repeated repeat_for(const std::function<void()>& pass, double seconds);

/// The clock of this core under load in Hz, from a chain of dependent multiplications (3 cycles each on every x86-64
/// since 2008); NaN on processors for which that is not known. Measured once, 20 ms.
double core_clock_hz();

/// NaN when the clock is not known.
double cycles_per_byte(double mb_per_s);

}  // namespace nbdcrypt::bench
