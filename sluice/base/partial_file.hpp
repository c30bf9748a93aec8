// The files that AtomicFile writes before they take FILE's name: FILE.<process>-<n>.partial, beside it.
//
// Whoever writes one holds a lock on it (flock) while it is open. So what a process left that was killed can be told from
// what is being written at this moment, also where two processes see other process numbers, as in containers that share a
// folder. Where a file system has no locks, nothing is ever taken for left behind.
#pragma once

#include <sys/stat.h>

#include <filesystem>

namespace sluice {

// Makes a file that nobody else has, locked, and sets `partial` to its path. Its descriptor; -1 with errno where none can
// be made.
int open_partial(const std::filesystem::path& target, mode_t mode, std::filesystem::path& partial);

// Removes what this user's processes that are gone have left beside `target`. What cannot be removed stays.
void collect_partials(const std::filesystem::path& target);

// Gives the file the owner, the group, the access mode and the access list of `target`, which has `old`, as far as this
// process may. A group that it may not give gets no more rights than everybody has.
void take_rights(int descriptor, const std::filesystem::path& target, const struct stat& old);

}  // namespace sluice
