// SPDX-License-Identifier: Apache-2.0
#include "base/pipeline.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>

namespace nbdcrypt::base {
namespace {

using namespace std::chrono_literals;

struct Job {
  std::uint64_t number = 0, result = 0;
};

std::uint64_t work_on(std::uint64_t number) { return number * 0x9e3779b97f4a7c15 + 1; }

std::string message_of(const std::exception_ptr& error) {
  if (!error) return "";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) { return exception.what(); }
}

/// What was committed. Written by one thread at a time, read after drain() or stop().
struct Log {
  std::vector<std::uint64_t> sequences, numbers;
  std::vector<std::string> errors;
  bool results_right = true;

  void add(std::uint64_t sequence, const Job& job, const std::exception_ptr& error) {
    sequences.push_back(sequence);
    numbers.push_back(job.number);
    errors.push_back(message_of(error));
    if (!error && job.result != work_on(job.number)) results_right = false;
  }

  void expect_in_order(std::uint64_t first, std::size_t count) const {
    ASSERT_EQ(sequences.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(sequences[i], first + i);
      ASSERT_EQ(numbers[i], i);
    }
    EXPECT_TRUE(results_right);
  }
};

/// Workers x batch.
class PipelineOf : public testing::TestWithParam<std::pair<unsigned, std::size_t>> {
 protected:
  PipelineOptions options(std::uint64_t first_sequence = 0) const {
    return {.workers = GetParam().first, .batch = GetParam().second, .batches = 4, .first_sequence = first_sequence};
  }
};
INSTANTIATE_TEST_SUITE_P(, PipelineOf,
                         testing::Values(std::pair{1u, std::size_t{1}}, std::pair{2u, std::size_t{1}},
                                         std::pair{2u, std::size_t{64}}, std::pair{5u, std::size_t{3}},
                                         std::pair{8u, std::size_t{16}}),
                         [](const auto& test) {
                           return std::to_string(test.param.first) + "_workers_batches_of_" +
                                  std::to_string(test.param.second);
                         });

TEST_P(PipelineOf, CommitsInTheOrderOfSubmission) {
  Log log;
  Pipeline<Job> pipeline(
      options(), [](Job& job) { job.result = work_on(job.number); },
      [&](std::uint64_t sequence, Job& job, const std::exception_ptr& error) { log.add(sequence, job, error); });
  for (std::uint64_t i = 0; i < 10'000; ++i) ASSERT_TRUE(pipeline.submit({.number = i}));
  pipeline.drain();
  log.expect_in_order(0, 10'000);
}

TEST_P(PipelineOf, SequenceNumbersWrap) {
  constexpr std::uint64_t kFirst = UINT64_MAX - 4;  // 2^64 - 5
  Log log;
  Pipeline<Job> pipeline(
      options(kFirst), [](Job& job) { job.result = work_on(job.number); },
      [&](std::uint64_t sequence, Job& job, const std::exception_ptr& error) { log.add(sequence, job, error); });
  for (std::uint64_t i = 0; i < 2'000; ++i) ASSERT_TRUE(pipeline.submit({.number = i}));
  pipeline.drain();
  log.expect_in_order(kFirst, 2'000);
  EXPECT_EQ(log.sequences[4], UINT64_MAX);
  EXPECT_EQ(log.sequences[5], 0u);
}

TEST_P(PipelineOf, DeliversErrorsInTheirPlace) {
  Log log;
  Pipeline<Job> pipeline(
      options(),
      [](Job& job) {
        if (job.number % 7 == 3) throw std::runtime_error("job " + std::to_string(job.number));
        job.result = work_on(job.number);
      },
      [&](std::uint64_t sequence, Job& job, const std::exception_ptr& error) { log.add(sequence, job, error); });
  for (std::uint64_t i = 0; i < 1'000; ++i) ASSERT_TRUE(pipeline.submit({.number = i}));
  pipeline.drain();
  log.expect_in_order(0, 1'000);
  for (std::size_t i = 0; i < 1'000; ++i) { EXPECT_EQ(log.errors[i], i % 7 == 3 ? "job " + std::to_string(i) : ""); }
}

TEST_P(PipelineOf, OneJobMayBeAThousandTimesSlower) {
  Log log;
  std::atomic<std::uint64_t> ran_before_the_slow_one_ended = 0;
  std::atomic<bool> slow_ended = false;
  Pipeline<Job> pipeline(
      options(),
      [&](Job& job) {
        std::this_thread::sleep_for(job.number == 5 ? 50ms : 0ms);  // others: about 50 microseconds
        if (job.number == 5) slow_ended = true;
        if (!slow_ended) ++ran_before_the_slow_one_ended;
        job.result = work_on(job.number);
      },
      [&](std::uint64_t sequence, Job& job, const std::exception_ptr& error) { log.add(sequence, job, error); });
  for (std::uint64_t i = 0; i < 500; ++i) ASSERT_TRUE(pipeline.submit({.number = i}));
  pipeline.drain();
  log.expect_in_order(0, 500);
  // The others went on meanwhile, as far as the ring reaches.
  if (GetParam().first > 1) { EXPECT_GT(ran_before_the_slow_one_ended, GetParam().second); }
}

TEST_P(PipelineOf, DrainsAgainAndAgain) {
  Log log;
  Pipeline<Job> pipeline(
      options(), [](Job& job) { job.result = work_on(job.number); },
      [&](std::uint64_t sequence, Job& job, const std::exception_ptr& error) { log.add(sequence, job, error); });
  pipeline.drain();
  std::uint64_t number = 0;
  for (const std::size_t count : {1, 2, 3, 100, 64, 65, 1000}) {
    for (std::size_t i = 0; i < count; ++i) ASSERT_TRUE(pipeline.submit({.number = number++}));
    pipeline.drain();
    ASSERT_EQ(log.sequences.size(), number);
  }
  log.expect_in_order(0, log.sequences.size());
}

/// A job that ends when it is told to.
class Gate {
 public:
  void open() {
    std::lock_guard hold(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock hold(mutex_);
    changed_.wait(hold, [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

TEST(Pipeline, SubmitBlocksWhileTheRingIsFull) {
  Gate gate;
  std::atomic<std::uint64_t> accepted = 0, committed = 0;
  Pipeline<Job> pipeline(
      {.workers = 2, .batch = 4, .batches = 4}, [&](Job&) { gate.pass(); },
      [&](std::uint64_t, Job&, const std::exception_ptr&) { ++committed; });
  std::thread submitter([&] {
    for (std::uint64_t i = 0; i < 200; ++i) accepted += pipeline.submit({.number = i});
  });
  while (accepted < 16) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(accepted, 16u);  // four batches of four
  EXPECT_EQ(committed, 0u);
  gate.open();
  submitter.join();
  pipeline.drain();
  EXPECT_EQ(committed, 200u);
}

TEST(Pipeline, StopCommitsWhatHasBegunAndDropsTheRest) {
  Gate gate;
  Log log;
  std::atomic<unsigned> begun = 0;
  Pipeline<Job> pipeline(
      {.workers = 2, .batch = 2, .batches = 8},
      [&](Job& job) {
        ++begun;
        gate.pass();
        job.result = work_on(job.number);
      },
      [&](std::uint64_t sequence, Job& job, const std::exception_ptr& error) { log.add(sequence, job, error); });
  for (std::uint64_t i = 0; i < 12; ++i) ASSERT_TRUE(pipeline.submit({.number = i}));
  while (begun < 2) std::this_thread::sleep_for(1ms);
  std::thread stopper([&] { pipeline.stop(); });
  std::this_thread::sleep_for(20ms);
  gate.open();
  stopper.join();
  log.expect_in_order(0, 4);
  EXPECT_FALSE(pipeline.submit({.number = 12}));
  pipeline.drain();
  pipeline.stop();
  log.expect_in_order(0, 4);
}

TEST(Pipeline, StopWakesASubmitThatWaits) {
  Gate gate;
  Pipeline<Job> pipeline(
      {.workers = 1, .batch = 1, .batches = 2}, [&](Job&) { gate.pass(); },
      [](std::uint64_t, Job&, const std::exception_ptr&) {});
  std::atomic<std::uint64_t> accepted = 0;
  std::atomic<bool> refused = false;
  std::thread submitter([&] {
    while (pipeline.submit({})) ++accepted;
    refused = true;
  });
  while (accepted < 2) std::this_thread::sleep_for(1ms);
  std::thread stopper([&] { pipeline.stop(); });
  submitter.join();
  EXPECT_TRUE(refused);
  gate.open();
  stopper.join();
}

TEST(Pipeline, EndsWithJobsThatNobodyWaitedFor) {
  std::atomic<std::uint64_t> committed = 0;
  for (int i = 0; i < 200; ++i) {
    Pipeline<Job> pipeline(
        {.workers = 3, .batch = 2, .batches = 4}, [](Job&) {},
        [&](std::uint64_t, Job&, const std::exception_ptr&) { ++committed; });
    for (int n = 0; n < i % 11; ++n) pipeline.submit({});
  }
  EXPECT_LE(committed, 1'000u);
}

TEST(Pipeline, ACommitThatThrowsStopsItAndDrainThrowsTheSame) {
  std::vector<std::uint64_t> committed;
  Pipeline<Job> pipeline(
      {.workers = 2, .batch = 3, .batches = 4}, [](Job&) {},
      [&](std::uint64_t sequence, Job&, const std::exception_ptr&) {
        if (sequence == 7) throw std::runtime_error("commit 7");
        committed.push_back(sequence);
      });
  for (std::uint64_t i = 0; i < 1'000 && pipeline.submit({}); ++i) {}
  EXPECT_THROW(
      {
        try {
          pipeline.drain();
        } catch (const std::runtime_error& error) {
          EXPECT_STREQ(error.what(), "commit 7");
          throw;
        }
      },
      std::runtime_error);
  pipeline.stop();
  EXPECT_EQ(committed, (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6}));
}

TEST(Pipeline, TakesJobsThatCanOnlyBeMoved) {
  std::uint64_t sum = 0;
  Pipeline<std::unique_ptr<int>> pipeline(
      {.workers = 2, .batch = 2, .batches = 2}, [](auto& job) { *job *= 2; },
      [&](std::uint64_t, auto& job, const std::exception_ptr&) { sum += *job; });
  for (int i = 1; i <= 100; ++i) pipeline.submit(std::make_unique<int>(i));
  pipeline.drain();
  EXPECT_EQ(sum, 10'100u);
}

}  // namespace
}  // namespace nbdcrypt::base
