// SPDX-License-Identifier: Apache-2.0
#include "bench/fs/phases.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "base/error.h"

namespace nbdcrypt::bench::fs {
namespace {

constexpr std::uint64_t kStepBytes = 1 << 20;  // between two looks at the clock
constexpr double kSeekSeconds = 2;             // the classic made 4000 seeks, which took long in 2005

struct Name {
  const char *key, *title;
};
constexpr Name kNames[] = {
    {"putc", "Writing with putc()"}, {"rewrite", "Rewriting"},          {"write", "Writing intelligently"},
    {"getc", "Reading with getc()"}, {"read", "Reading intelligently"}, {"seeks", "Random seeks"},
    {"create", "Creating files"},    {"stat", "Looking at files"},      {"delete", "Deleting files"}};

[[noreturn]] void fail(const std::string& path) { base::throw_os_error(path, errno); }

class File {
 public:
  File(const std::string& path, int flags) : path_(path), fd_(open(path.c_str(), flags | O_CLOEXEC, 0600)) {
    if (fd_ < 0) fail(path);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { close(fd_); }
  int fd() const { return fd_; }
  void sync() const {
    if (fsync(fd_) != 0) fail(path_);
  }
  void read_at(std::uint64_t offset, std::vector<char>& block) const {
    const ssize_t n = pread(fd_, block.data(), block.size(), static_cast<off_t>(offset));
    if (n == static_cast<ssize_t>(block.size())) return;
    if (n >= 0) errno = EIO;
    fail(path_);
  }
  void write_at(std::uint64_t offset, const std::vector<char>& block) const {
    const ssize_t n = pwrite(fd_, block.data(), block.size(), static_cast<off_t>(offset));
    if (n == static_cast<ssize_t>(block.size())) return;
    if (n >= 0) errno = ENOSPC;
    fail(path_);
  }

 private:
  std::string path_;
  int fd_;
};

// The clock of one phase, and what of it is done.
class Watch {
 public:
  Watch(Phase phase, double limit_seconds, Observer& observer)
      : phase_(phase),
        limit_(limit_seconds > 0 ? limit_seconds : std::numeric_limits<double>::infinity()),
        observer_(observer) {
    observer_.begin(phase);
    start_ = Clock::now();
  }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  /// False when the time is over.
  bool go_on(std::uint64_t done_bytes) {
    if (done_bytes % kStepBytes != 0) return true;
    observer_.step(done_bytes);
    return seconds() < limit_;
  }
  void end(double amount) { observer_.end(phase_, amount, seconds()); }

 private:
  using Clock = std::chrono::steady_clock;
  Phase phase_;
  double limit_;
  Observer& observer_;
  Clock::time_point start_;
};

class Runner {
 public:
  Runner(const Workload& load, Observer& observer)
      : load_(load), observer_(observer), path_(load.raw ? load.where : load.where + "/bonnie"), block_(kBlockBytes) {
    std::mt19937 random(1);
    for (char& c : block_) c = static_cast<char>(random());
  }

  void run() {
    put_characters();
    rewrite();
    write_blocks();
    get_characters();
    read_blocks();
    seek();
    if (load_.raw) return;
    if (unlink(path_.c_str()) != 0) fail(path_);
    if (load_.files != 0) small_files();
  }

 private:
  int new_file() const { return load_.raw ? O_RDWR : O_RDWR | O_CREAT | O_TRUNC; }

  // What was written is to be read from below, and not from the page cache. Nothing is lost when the kernel declines.
  void forget() const {
    const File file(path_, O_RDONLY);
    posix_fadvise(file.fd(), 0, 0, POSIX_FADV_DONTNEED);
    if (!load_.drop_caches) return;
    const File drop("/proc/sys/vm/drop_caches", O_WRONLY);
    if (write(drop.fd(), "1", 1) != 1) fail("/proc/sys/vm/drop_caches");
  }

  using Stream = std::unique_ptr<FILE, int (*)(FILE*)>;
  Stream open_stream(const File& file, const char* mode) const {
    const int copy = dup(file.fd());
    Stream stream(copy < 0 ? nullptr : fdopen(copy, mode), fclose);
    if (!stream) fail(path_);
    return stream;
  }

  void put_characters() {
    Watch watch(Phase::putc, load_.seconds, observer_);
    const File file(path_, new_file());
    const Stream stream = open_stream(file, "w");
    std::uint64_t done = 0;
    do {
      for (std::size_t i = 0; i < kBlockBytes; ++i) putc_unlocked(static_cast<int>(i & 0x7f), stream.get());
      if (ferror(stream.get())) fail(path_);
      done += kBlockBytes;
    } while (done < load_.file_bytes && watch.go_on(done));
    if (fflush(stream.get()) != 0) fail(path_);
    file.sync();
    watch.end(static_cast<double>(present_ = done));
  }

  void rewrite() {
    forget();
    Watch watch(Phase::rewrite, load_.seconds, observer_);
    const File file(path_, O_RDWR);
    std::vector<char> block(kBlockBytes);
    std::uint64_t done = 0;
    do {
      file.read_at(done, block);
      ++block[done / kBlockBytes % kBlockBytes];
      file.write_at(done, block);
      done += kBlockBytes;
    } while (done < present_ && watch.go_on(done));
    file.sync();
    watch.end(static_cast<double>(done));
  }

  void write_blocks() {
    Watch watch(Phase::write, load_.seconds, observer_);
    const File file(path_, new_file());
    std::uint64_t done = 0;
    do {
      ++block_[done / kBlockBytes % kBlockBytes];
      file.write_at(done, block_);
      done += kBlockBytes;
    } while (done < load_.file_bytes && watch.go_on(done));
    file.sync();
    watch.end(static_cast<double>(present_ = done));
  }

  void get_characters() {
    forget();
    Watch watch(Phase::getc, load_.seconds, observer_);
    const File file(path_, O_RDONLY);
    const Stream stream = open_stream(file, "r");
    std::uint64_t done = 0;
    unsigned sum = 0;  // so that reading is not left out
    do {
      for (std::size_t i = 0; i < kBlockBytes; ++i) sum += static_cast<unsigned>(getc_unlocked(stream.get()));
      if (feof(stream.get())) errno = EIO;  // somebody cut the file short
      if (ferror(stream.get()) || feof(stream.get())) fail(path_);
      done += kBlockBytes;
    } while (done < present_ && watch.go_on(done));
    sink_ = sum;
    watch.end(static_cast<double>(done));
  }

  void read_blocks() {
    forget();
    Watch watch(Phase::read, load_.seconds, observer_);
    const File file(path_, O_RDONLY);
    std::vector<char> block(kBlockBytes);
    std::uint64_t done = 0;
    do {
      file.read_at(done, block);
      sink_ = static_cast<unsigned>(block[0]);
      done += kBlockBytes;
    } while (done < present_ && watch.go_on(done));
    watch.end(static_cast<double>(done));
  }

  // One in ten blocks is changed and written back, as in the classic.
  void seek() {
    forget();
    const double limit = load_.seconds > 0 ? std::min(load_.seconds, kSeekSeconds) : kSeekSeconds;
    std::mt19937_64 random(2);
    const File file(path_, O_RDWR);
    std::vector<char> block(kBlockBytes);
    Watch watch(Phase::seeks, limit, observer_);
    std::uint64_t done = 0;
    while (watch.seconds() < limit) {
      const std::uint64_t offset = random() % (present_ / kBlockBytes) * kBlockBytes;
      file.read_at(offset, block);
      if (++done % 10 != 0) continue;
      ++block[0];
      file.write_at(offset, block);
    }
    file.sync();
    watch.end(static_cast<double>(done));
  }

  void small_files() {
    const File folder(load_.where, O_RDONLY | O_DIRECTORY);
    std::vector<std::string> paths;
    for (unsigned i = 0; i < load_.files; ++i) paths.push_back(load_.where + "/file" + std::to_string(i));
    each(Phase::create, paths, folder, [](const std::string& path) {
      const File file(path, O_WRONLY | O_CREAT | O_EXCL);
      return 0;
    });
    each(Phase::stat, paths, folder, [](const std::string& path) {
      struct stat status;
      return ::stat(path.c_str(), &status);
    });
    each(Phase::remove, paths, folder, [](const std::string& path) { return unlink(path.c_str()); });
  }

  template <class Action>
  void each(Phase phase, const std::vector<std::string>& paths, const File& folder, Action&& action) {
    Watch watch(phase, 0, observer_);
    for (const std::string& path : paths) {
      if (action(path) != 0) fail(path);
    }
    if (phase != Phase::stat && syncfs(folder.fd()) != 0) fail(load_.where);
    watch.end(static_cast<double>(paths.size()));
  }

  const Workload& load_;
  Observer& observer_;
  std::string path_;
  std::vector<char> block_;
  std::uint64_t present_ = 0;  // bytes of the file that were written last
  volatile unsigned sink_ = 0;
};

}  // namespace

const char* key_of(Phase phase) noexcept { return kNames[static_cast<std::size_t>(phase)].key; }
const char* title_of(Phase phase) noexcept { return kNames[static_cast<std::size_t>(phase)].title; }

void run_phases(const Workload& load, Observer& observer) { Runner(load, observer).run(); }

}  // namespace nbdcrypt::bench::fs
