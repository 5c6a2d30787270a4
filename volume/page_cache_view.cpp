// SPDX-License-Identifier: Apache-2.0
#include "volume/page_cache_view.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <mutex>

namespace nbdcrypt::volume {
namespace {

using base::Byte;

// All views of the process, for the handler, which can take no lock.
constexpr std::size_t kMaxViews = 16;
std::array<std::atomic<PageCacheView*>, kMaxViews> views;

struct sigaction former_action;
std::once_flag handler_installed;

std::uint64_t page_bytes() noexcept {
  static const auto kBytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return kBytes;
}

bool enter(PageCacheView* view) noexcept {
  return std::any_of(views.begin(), views.end(), [view](std::atomic<PageCacheView*>& place) {
    PageCacheView* expected = nullptr;
    return place.compare_exchange_strong(expected, view);
  });
}

void leave(const PageCacheView* view) noexcept {
  for (auto& place : views) {
    if (place == view) place = nullptr;
  }
}

// What would have happened without us.
void pass_on(int signal, siginfo_t* info, void* context) noexcept {
  if ((former_action.sa_flags & SA_SIGINFO) != 0) return former_action.sa_sigaction(signal, info, context);
  if (former_action.sa_handler != SIG_DFL && former_action.sa_handler != SIG_IGN)
    return former_action.sa_handler(signal);
  sigaction(SIGBUS, &former_action, nullptr);  // the access faults again, and ends the process
}

}  // namespace

void PageCacheView::on_fault(int signal, siginfo_t* info, void* context) noexcept {
  for (auto& place : views) {
    PageCacheView* const view = place;
    if (view != nullptr && view->mend(static_cast<Byte*>(info->si_addr))) return;
  }
  pass_on(signal, info, context);
}

// In a signal handler.
bool PageCacheView::mend(Byte* at) noexcept {
  if (at < begin_ || at >= begin_ + bytes_) return false;
  given_up_ = true;  // before anybody can see zeros
  const auto page = static_cast<std::uint64_t>(at - begin_) / page_bytes() * page_bytes();
  return mmap(begin_ + page, page_bytes(), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

std::unique_ptr<PageCacheView> PageCacheView::of(int fd, std::uint64_t bytes) {
  struct stat status;
  if (sizeof(void*) < 8 || bytes == 0 || bytes > kMaxBytes || fstat(fd, &status) != 0) return nullptr;
  std::unique_ptr<PageCacheView> view(new PageCacheView(fd, bytes, S_ISREG(status.st_mode)));
  void* const begin = mmap(nullptr, bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (begin == MAP_FAILED) return nullptr;
  view->begin_ = static_cast<Byte*>(begin);
  if (!enter(view.get())) return nullptr;
  std::call_once(handler_installed, [] {
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGBUS, &action, &former_action);
  });
  return view;
}

PageCacheView::~PageCacheView() {
  leave(this);
  if (begin_ != nullptr) munmap(begin_, bytes_);
}

const Byte* PageCacheView::look(std::uint64_t offset, std::size_t bytes) const noexcept {
  constexpr std::size_t kPagesAtOnce = 64;
  if (given_up_ || bytes < kMinLook || offset > bytes_ || bytes > bytes_ - offset) return nullptr;
  const std::uint64_t end = offset + bytes, page = page_bytes();
  for (std::uint64_t at = offset / page * page; at < end; at += kPagesAtOnce * page) {
    unsigned char resident[kPagesAtOnce];
    const std::uint64_t length = std::min(end - at, kPagesAtOnce * page);
    if (mincore(begin_ + at, length, resident) != 0) return nullptr;
    const std::size_t pages = (length + page - 1) / page;
    if (!std::all_of(resident, resident + pages, [](unsigned char flags) { return (flags & 1) != 0; })) return nullptr;
  }
  return begin_ + offset;
}

// A file that ends in the middle of a page has zeros behind its end, without a signal.
bool PageCacheView::holds(std::uint64_t offset, std::size_t bytes) const noexcept {
  struct stat status;
  if (given_up_) return false;
  return !may_shrink_ || (fstat(fd_, &status) == 0 && offset + bytes <= static_cast<std::uint64_t>(status.st_size));
}

}  // namespace nbdcrypt::volume
