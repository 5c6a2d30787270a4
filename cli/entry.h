// SPDX-License-Identifier: Apache-2.0
//
// One open volume in the runtime folder: NAME/{lock,state.json,nbd.sock,dev}.
//
// Who lives is told by locks, never by process numbers. Each byte of NAME/lock stands for a process, and is locked
// through an open file that this process inherited and that the kernel closes when it ends, however it ends. An entry
// whose server's byte is free is stale: the next command that meets it takes it down.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/runtime.h"
#include "cli/state.h"
#include "volume/file_store.h"

namespace nbdcrypt::cli {

/// The bytes of NAME/lock.
enum class Role : int {
  server = 0,      ///< nbdkit
  command = 1,     ///< a command that changes this entry; one at a time
  attachment = 2,  ///< nbdfuse
  filesystem = 3,  ///< a file system in user space
};

/// The files of an entry.
constexpr const char* kSocketFile = "nbd.sock";
constexpr const char* kServerPidFile = "server.pid";
constexpr const char* kAttachmentPidFile = "attachment.pid";
constexpr const char* kDeviceFile = "dev";

/// Throws Error{usage} for a name that will not do (check_name), or that makes the socket's path too long for the
/// system.
void check_entry_name(const RuntimeDir& runtime, const std::string& name);

/// An entry that is held: nobody else changes it while this object lives.
class Entry {
 public:
  /// Makes the entry, or takes what a former one left. Throws as check_entry_name(), and Error{busy} when another
  /// command holds it.
  static Entry make(const RuntimeDir& runtime, const std::string& name);
  /// Throws Error{device} when there is none; else as make().
  static Entry find(const RuntimeDir& runtime, const std::string& name);

  const std::string& name() const noexcept { return name_; }
  /// The absolute path of a file in it, for other programs.
  std::string path(const char* file) const { return path_ + "/" + file; }

  bool lives(Role role) const;
  /// Takes the byte of `role` through an open file of its own, for its process to inherit.
  volume::FileDescriptor lock_for(Role role) const;
  /// Waits until the process of `role` has ended, at most `patience`. False when it still lives.
  bool wait_for_end(Role role, std::chrono::milliseconds patience) const;

  /// What was last written; nothing before that. Throws Error{format} when it was tampered with.
  std::optional<State> state() const;
  void write(const State& state) const;

  /// The process number in a file, 0 when it is not (all) there yet.
  pid_t pid_in(const char* file) const;
  void write_pid(const char* file, pid_t pid) const;
  void make_empty_file(const char* file) const;
  void make_link(const char* file, const std::string& target) const;
  void unlink(const char* file) const noexcept;
  /// Removes its files and its folder, unless somebody put more into that.
  void remove();

 private:
  Entry(std::string name, std::string path) : name_(std::move(name)), path_(std::move(path)) {}
  static std::optional<Entry> try_hold(const RuntimeDir& runtime, const std::string& name, bool make);

  std::string name_, path_;
  int runtime_fd_ = -1;
  volume::FileDescriptor folder_, lock_;
};

/// What can be seen of an entry without holding it.
struct Glance {
  bool serving = false;  // its server lives
  bool held = false;     // a command is at work on it
  std::optional<State> state;
};
/// Nothing when there is no such entry. Throws as Entry::find() for what is not ours.
std::optional<Glance> glance(const RuntimeDir& runtime, const std::string& name);
/// Also nothing for what is damaged or not ours: for a look through all entries, where one must not stand in for the
/// others.
std::optional<Glance> glance_if_sound(const RuntimeDir& runtime, const std::string& name);

}  // namespace nbdcrypt::cli
