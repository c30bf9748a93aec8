// A library to preload: it makes one call of the system fail, so that a test can see what becomes of it.
//
//   SLUICE_FAIL=write:17     the 17th write of the process fails, all others work
//   SLUICE_FAIL=write:17+    it and all that follow
//   SLUICE_COUNT=FILE        at its end the process writes how many calls of each kind it made: "write 213" and so on
//
// Kinds and their errors are in the table below. Three are io_uring's: a `submit` that is refused, a request that is
// `complete` with an error, and one that has done half of what it was asked to (`short`, which is none). Calls that oneDNN
// makes itself do not fail, because it ends the process then (its code generator writes to where mmap() gave nothing): the
// next call of somebody else fails instead. Processes that a run starts inherit the variables, and each counts for itself.
#include <dlfcn.h>
#include <fcntl.h>
#include <liburing.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

enum Kind { kWrite, kPwrite, kFsync, kRename, kMmap, kFallocate, kThread, kAlloc, kSubmit, kComplete, kShort, kKinds };

struct Entry {
  const char* name;
  int reason;
};
constexpr std::array<Entry, kKinds> kTable{{{"write", ENOSPC},
                                            {"pwrite", EIO},
                                            {"fsync", EIO},
                                            {"rename", EIO},
                                            {"mmap", ENOMEM},
                                            {"fallocate", ENOSPC},
                                            {"thread", EAGAIN},
                                            {"alloc", ENOMEM},
                                            {"submit", ENOMEM},
                                            {"complete", EIO},
                                            {"short", 0}}};

std::array<std::atomic<long>, kKinds> counts;

struct Wanted {
  int kind = kKinds;
  long call = 0;
  bool onwards = false;
};

// Before anything is allocated: malloc is one of the calls.
Wanted read_wanted() {
  Wanted wanted;
  const char* const text = std::getenv("SLUICE_FAIL");
  const char* const colon = text == nullptr ? nullptr : std::strchr(text, ':');
  if (colon == nullptr) return wanted;
  for (int kind = 0; kind < kKinds; ++kind) {
    const char* const name = kTable[static_cast<std::size_t>(kind)].name;
    if (std::strlen(name) == static_cast<std::size_t>(colon - text) &&
        std::strncmp(text, name, std::strlen(name)) == 0) {
      wanted.kind = kind;
    }
  }
  char* end = nullptr;
  wanted.call = std::strtol(colon + 1, &end, 10);
  wanted.onwards = *end == '+';
  return wanted;
}

Wanted wanted_call;

__attribute__((constructor)) void begin() { wanted_call = read_wanted(); }

std::atomic<bool> has_failed = false;
std::atomic<bool> in_main = false;  // before, nothing is allocated that a program could do without
int (*real_main)(int, char**, char**) = nullptr;

int counted_main(int count, char** words, char** variables) {
  in_main = true;
  return real_main(count, words, variables);
}

bool is_of_onednn(const void* caller) {
  Dl_info found{};
  return ::dladdr(caller, &found) != 0 && found.dli_fname != nullptr &&
         std::strstr(found.dli_fname, "libdnnl") != nullptr;
}

// Counts a call and says whether it is to fail. `caller`: an address in who makes it.
bool fails(Kind kind, const void* caller) {
  if (!in_main) return false;
  const long call = ++counts[kind];
  if (kind != wanted_call.kind || call < wanted_call.call || is_of_onednn(caller)) return false;
  return wanted_call.onwards || !has_failed.exchange(true);
}

#define SLUICE_CALLER __builtin_return_address(0)

int reason_of(Kind kind) { return kTable[kind].reason; }

// The function behind ours. Found once: the loader may allocate, which then goes on without us.
template <typename Function>
Function* behind(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

__attribute__((destructor)) void finish() {
  const char* const path = std::getenv("SLUICE_COUNT");
  if (path == nullptr) return;
  char text[512];
  int size = 0;
  for (int kind = 0; kind < kKinds; ++kind) {
    size += std::snprintf(text + size, sizeof text - static_cast<std::size_t>(size), "%s %ld\n",
                          kTable[static_cast<std::size_t>(kind)].name, counts[static_cast<std::size_t>(kind)].load());
  }
  const int file = ::open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  static auto* const next = behind<ssize_t(int, const void*, size_t)>("write");
  if (file >= 0) (void)!next(file, text, static_cast<std::size_t>(size));
}

// Wake-ups, of eventfd(), never fail, and are no business of ours.
bool is_file(int descriptor) {
  struct stat now {};
  return ::fstat(descriptor, &now) != 0 || (now.st_mode & S_IFMT) != 0;
}

// Requests that are done and that the program has not seen yet, each of them once.
int look_at_completions(struct io_uring* ring, int result) {
  constexpr int kBlock = 4096;
  thread_local const struct io_uring* known = nullptr;
  thread_local unsigned looked_at = 0;
  const unsigned seen = *ring->cq.khead, done = __atomic_load_n(ring->cq.ktail, __ATOMIC_ACQUIRE);
  if (known != ring || static_cast<int>(seen - looked_at) > 0) looked_at = seen;
  known = ring;
  for (; looked_at != done; ++looked_at) {
    struct io_uring_cqe& each = ring->cq.cqes[looked_at & *ring->cq.kring_mask];
    if (fails(kComplete, nullptr)) each.res = -reason_of(kComplete);
    if (each.res >= 2 * kBlock && fails(kShort, nullptr)) each.res = each.res / 2 / kBlock * kBlock;
  }
  return result;
}

}  // namespace

extern "C" {

// NOLINTBEGIN(readability-identifier-naming): the C library's names
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

int __libc_start_main(int (*main)(int, char**, char**), int count, char** words, void (*begin)(), void (*end)(),
                      void (*unload)(), void* stack) {
  // NOLINTEND(readability-identifier-naming)
  static auto* const next =
      behind<int(int (*)(int, char**, char**), int, char**, void (*)(), void (*)(), void (*)(), void*)>(
          "__libc_start_main");
  real_main = main;
  return next(counted_main, count, words, begin, end, unload, stack);
}

ssize_t write(int file, const void* bytes, size_t count) {
  static auto* const next = behind<ssize_t(int, const void*, size_t)>("write");
  if (!is_file(file) || !fails(kWrite, SLUICE_CALLER)) return next(file, bytes, count);
  errno = reason_of(kWrite);
  return -1;
}

ssize_t writev(int file, const struct iovec* parts, int count) {
  static auto* const next = behind<ssize_t(int, const struct iovec*, int)>("writev");
  if (!fails(kWrite, SLUICE_CALLER)) return next(file, parts, count);
  errno = reason_of(kWrite);
  return -1;
}

ssize_t pwrite(int file, const void* bytes, size_t count, off_t at) {
  static auto* const next = behind<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  if (!fails(kPwrite, SLUICE_CALLER)) return next(file, bytes, count, at);
  errno = reason_of(kPwrite);
  return -1;
}

ssize_t pwrite64(int file, const void* bytes, size_t count, off64_t at) { return pwrite(file, bytes, count, at); }

int fsync(int file) {
  static auto* const next = behind<int(int)>("fsync");
  if (!fails(kFsync, SLUICE_CALLER)) return next(file);
  errno = reason_of(kFsync);
  return -1;
}

int rename(const char* from, const char* to) noexcept {
  static auto* const next = behind<int(const char*, const char*)>("rename");
  if (!fails(kRename, SLUICE_CALLER)) return next(from, to);
  errno = reason_of(kRename);
  return -1;
}

void* mmap(void* at, size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  static auto* const next = behind<void*(void*, size_t, int, int, int, off_t)>("mmap");
  if (!fails(kMmap, SLUICE_CALLER)) return next(at, bytes, protection, flags, file, offset);
  errno = reason_of(kMmap);
  return MAP_FAILED;
}

void* mmap64(void* at, size_t bytes, int protection, int flags, int file, off64_t offset) noexcept {
  return mmap(at, bytes, protection, flags, file, offset);
}

int fallocate(int file, int mode, off_t at, off_t bytes) {
  static auto* const next = behind<int(int, int, off_t, off_t)>("fallocate");
  if (!fails(kFallocate, SLUICE_CALLER)) return next(file, mode, at, bytes);
  errno = reason_of(kFallocate);
  return -1;
}

int fallocate64(int file, int mode, off64_t at, off64_t bytes) { return fallocate(file, mode, at, bytes); }

int posix_fallocate(int file, off_t at, off_t bytes) {
  static auto* const next = behind<int(int, off_t, off_t)>("posix_fallocate");
  return fails(kFallocate, SLUICE_CALLER) ? reason_of(kFallocate) : next(file, at, bytes);
}

int posix_fallocate64(int file, off64_t at, off64_t bytes) { return posix_fallocate(file, at, bytes); }

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument) noexcept {
  static auto* const next = behind<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  return fails(kThread, SLUICE_CALLER) ? reason_of(kThread) : next(thread, attributes, body, argument);
}

void* malloc(size_t bytes) noexcept {
  if (!fails(kAlloc, SLUICE_CALLER)) return __libc_malloc(bytes);
  errno = reason_of(kAlloc);
  return nullptr;
}

void* calloc(size_t count, size_t bytes) noexcept {
  if (!fails(kAlloc, SLUICE_CALLER)) return __libc_calloc(count, bytes);
  errno = reason_of(kAlloc);
  return nullptr;
}

void* realloc(void* old, size_t bytes) noexcept {
  if (!fails(kAlloc, SLUICE_CALLER)) return __libc_realloc(old, bytes);
  errno = reason_of(kAlloc);
  return nullptr;
}

void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  if (!fails(kAlloc, SLUICE_CALLER)) return __libc_memalign(alignment, bytes);
  errno = reason_of(kAlloc);
  return nullptr;
}

int posix_memalign(void** result, size_t alignment, size_t bytes) noexcept {
  if (fails(kAlloc, SLUICE_CALLER)) return reason_of(kAlloc);
  *result = __libc_memalign(alignment, bytes);
  return *result == nullptr ? ENOMEM : 0;
}

int io_uring_submit_and_wait(struct io_uring* ring, unsigned events) {
  static auto* const next = behind<int(struct io_uring*, unsigned)>("io_uring_submit_and_wait");
  return fails(kSubmit, SLUICE_CALLER) ? -reason_of(kSubmit) : look_at_completions(ring, next(ring, events));
}

int io_uring_submit_and_get_events(struct io_uring* ring) {
  static auto* const next = behind<int(struct io_uring*)>("io_uring_submit_and_get_events");
  return fails(kSubmit, SLUICE_CALLER) ? -reason_of(kSubmit) : look_at_completions(ring, next(ring));
}

int io_uring_submit_and_wait_timeout(struct io_uring* ring, struct io_uring_cqe** first, unsigned events,
                                     struct __kernel_timespec* most, sigset_t* mask) {
  static auto* const next =
      behind<int(struct io_uring*, struct io_uring_cqe**, unsigned, struct __kernel_timespec*, sigset_t*)>(
          "io_uring_submit_and_wait_timeout");
  return fails(kSubmit, SLUICE_CALLER) ? -reason_of(kSubmit)
                                       : look_at_completions(ring, next(ring, first, events, most, mask));
}

}  // extern "C"

namespace {

void* allocate(std::size_t bytes, std::size_t alignment, const void* caller) {
  void* const got = fails(kAlloc, caller) ? nullptr : __libc_memalign(alignment, bytes);
  if (got == nullptr) throw std::bad_alloc();
  return got;
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t), SLUICE_CALLER); }
void* operator new[](std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t), SLUICE_CALLER); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment), SLUICE_CALLER);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment), SLUICE_CALLER);
}
