// The address sanitizer, where this was built with it: it takes memory and time of its own, which tests of cost count.
#pragma once

namespace sluice {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif

// How much longer than a release build, at most, code takes that mostly follows pointers. Measured: 4 to 8.
inline constexpr double kSanitizerSlowdown = kAddressSanitizer ? 8 : 1;

}  // namespace sluice
