// The sanitizers, where this was built with one: they take memory and time of their own, which tests of cost count.
#pragma once

namespace sluice {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif

// That one, or the thread sanitizer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// How much longer than a release build, at most, code takes that mostly follows pointers. Measured: 4 to 8.
inline constexpr double kSanitizerSlowdown = kAddressSanitizer ? 8 : 1;

}  // namespace sluice
