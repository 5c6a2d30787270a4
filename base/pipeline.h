// SPDX-License-Identifier: Apache-2.0
//
// Parallel work without reordering, after padata (Linux, 2009): jobs are submitted one after the other, run on any
// worker, and are committed in the order in which they were submitted. Where padata hands over each object by itself,
// a batch of jobs goes over at a time, so that small ones win as well.
//
//   submit -> batch being filled -> ring of batches -> workers: work(job), any order -> commit(job), in order
//
// A batch is committed by the worker that finds it finished and next in order: there is no thread for that, and no
// worker waits for another. One thread submits; work() is called by several threads at once, commit() by one at a time.
#pragma once

#include <bit>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace nbdcrypt::base {

struct PipelineOptions {
  unsigned workers = 2;              // threads, at least 1
  std::size_t batch = 64;            // jobs that are handed over at a time, at least 1
  std::size_t batches = 16;          // that may be under way at once, at least 2; rounded up to a power of two
  std::uint64_t first_sequence = 0;  // number of the first job; numbers wrap at 2^64
};

template <class Job>
class Pipeline {
 public:
  /// May throw: the exception is kept, and handed to commit() in the job's place.
  using Work = std::function<void(Job&)>;
  /// `error`: what work() threw, else null. Not called for jobs that were dropped. When commit() itself throws, the
  /// pipeline stops, and drain() throws it again.
  using Commit = std::function<void(std::uint64_t sequence, Job& job, const std::exception_ptr& error)>;

  Pipeline(const PipelineOptions& options, Work work, Commit commit)
      : batch_(options.batch > 0 ? options.batch : 1),
        slots_(std::bit_ceil(options.batches > 2 ? options.batches : 2)),
        work_(std::move(work)),
        commit_(std::move(commit)),
        sequence_(options.first_sequence),
        submitted_(options.first_sequence),
        taken_(options.first_sequence),
        committed_(options.first_sequence) {
    filling_.reserve(batch_);
    for (Slot& slot : slots_) slot.jobs.reserve(batch_);
    for (unsigned i = 0; i < (options.workers > 0 ? options.workers : 1); ++i) {
      workers_.emplace_back([this] { run_worker(); });
    }
  }
  ~Pipeline() { stop(); }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// Blocks while the ring is full: until half of it is free again, so that the threads do not wake each other for
  /// every batch. False, and the job is dropped, when the pipeline was stopped.
  bool submit(Job job) {
    if (filling_.empty() && !wait_for_space()) return false;
    filling_.push_back(std::move(job));
    if (filling_.size() == batch_) flush();
    return true;
  }

  /// Hands over what was submitted so far, even if it does not fill a batch.
  void flush() {
    if (filling_.empty()) return;
    {
      std::lock_guard hold(mutex_);
      Slot& slot = slot_of(submitted_++);  // there is room: wait_for_space() saw it
      slot.first = sequence_;
      sequence_ += filling_.size();
      slot.jobs.swap(filling_);
    }
    filling_.clear();
    available_.notify_one();
  }

  /// Hands over what was submitted, and returns when all of it has been committed or the pipeline was stopped. Throws
  /// what commit() threw.
  void drain() {
    flush();
    std::unique_lock hold(mutex_);
    idle_.wait(hold, [&] { return stopping_ || committed_ == submitted_; });
    if (failure_) std::rethrow_exception(failure_);
  }

  /// Lets the batches end that workers have begun, commits them, and drops all others. Wakes a submit() or drain() that
  /// waits. Not to be called from work() or commit().
  void stop() {
    begin_stop();
    std::lock_guard hold(join_mutex_);
    for (std::thread& worker : workers_) {
      if (worker.joinable()) worker.join();
    }
  }

 private:
  /// A batch. Belongs to the worker that took it, then to the one that commits it.
  struct Slot {
    std::vector<Job> jobs;
    std::uint64_t first = 0;                 // sequence number of jobs[0]
    std::vector<std::exception_ptr> errors;  // empty, or one for each job
    bool done = false;
  };

  Slot& slot_of(std::uint64_t batch) { return slots_[static_cast<std::size_t>(batch) & (slots_.size() - 1)]; }

  bool wait_for_space() {
    std::unique_lock hold(mutex_);
    if (submitted_ - committed_ == slots_.size()) {
      space_.wait(hold, [&] { return stopping_ || submitted_ - committed_ <= slots_.size() / 2; });
    }
    return !stopping_;
  }

  void begin_stop() {
    {
      std::lock_guard hold(mutex_);
      stopping_ = true;
    }
    notify_all();
  }

  void notify_all() {
    available_.notify_all();
    space_.notify_all();
    idle_.notify_all();
  }

  void run_worker() {
    std::unique_lock hold(mutex_);
    for (;;) {
      available_.wait(hold, [&] { return stopping_ || taken_ != submitted_; });
      if (stopping_) return;
      Slot& slot = slot_of(taken_++);
      hold.unlock();
      run_jobs(slot);
      hold.lock();
      slot.done = true;
      commit_finished(hold);
    }
  }

  void run_jobs(Slot& slot) {
    for (std::size_t i = 0; i < slot.jobs.size(); ++i) {
      try {
        work_(slot.jobs[i]);
      } catch (...) {
        slot.errors.resize(slot.jobs.size());
        slot.errors[i] = std::current_exception();
      }
    }
  }

  /// Commits finished batches in order, unless another worker is at it: that one looks again before it leaves off.
  void commit_finished(std::unique_lock<std::mutex>& hold) {
    if (committing_) return;
    committing_ = true;
    while (committed_ != taken_ && slot_of(committed_).done && !failure_) {
      Slot& slot = slot_of(committed_);
      hold.unlock();
      const std::exception_ptr failure = commit_jobs(slot);
      hold.lock();
      slot.done = false;
      ++committed_;
      if (failure) failure_ = failure, stopping_ = true;
      if (failure) notify_all();
      if (submitted_ - committed_ <= slots_.size() / 2) space_.notify_one();
      if (committed_ == submitted_) idle_.notify_all();
    }
    committing_ = false;
  }

  /// Returns what commit() threw; the jobs behind that one are dropped.
  std::exception_ptr commit_jobs(Slot& slot) {
    std::exception_ptr failure;
    try {
      static const std::exception_ptr none;
      for (std::size_t i = 0; i < slot.jobs.size(); ++i) {
        commit_(slot.first + i, slot.jobs[i], slot.errors.empty() ? none : slot.errors[i]);
      }
    } catch (...) { failure = std::current_exception(); }
    slot.jobs.clear();
    slot.errors.clear();
    return failure;
  }

  const std::size_t batch_;
  std::vector<Slot> slots_;
  const Work work_;
  const Commit commit_;
  std::vector<Job> filling_;  // the submitter's: the next batch
  std::uint64_t sequence_;    // of its first job

  std::mutex mutex_;  // for all that follows, and what the slots are
  std::condition_variable available_, space_, idle_;
  std::uint64_t submitted_, taken_, committed_;  // batches; they wrap as well
  bool committing_ = false, stopping_ = false;
  std::exception_ptr failure_;

  std::mutex join_mutex_;
  std::vector<std::thread> workers_;
};

}  // namespace nbdcrypt::base
