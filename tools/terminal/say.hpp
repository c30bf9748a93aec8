// What the command says on standard output. A terminal that has gone, a log on a full disk or a reader that went away is
// no reason to end: what cannot be written is dropped, and the command goes on. That it was dropped shows in the exit
// status (run_command.cpp).
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace sluice::cli {

void say_text(std::string_view text);
void say_now();  // what was said so far is written at once

template <typename... T>
void say(fmt::format_string<T...> format, T&&... arguments) {
  say_text(fmt::format(format, std::forward<T>(arguments)...));
}

// Forgets what was dropped so far, and sees to it that no file takes the place of a stream that was closed. From now on a write that fails is an error where it is made, and no signal ends the
// process for it (SIGPIPE, SIGXFSZ).
void begin_saying();

// Writes what is still buffered. The errno of the first text that was dropped; 0: none was.
int dropped_output();

}  // namespace sluice::cli
