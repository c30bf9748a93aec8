// What kinds of tiers can do. Nobody asks which kind a tier is; everybody asks what it can do, so that a new kind is a
// file of its own (kinds/kind_*.cpp) and its line in kinds/tier_kinds.cpp.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/base/units.hpp"

namespace sluice::memory {

class Arena;
struct Machine;
struct SlowTierOptions;
struct Tier;

// Where a tier's bandwidths come from when nobody gives them.
enum class FiguresFrom {
  kHostMemory,  // the host's ordinary memory, which is measured once
  kTheTier,     // measured in the tier itself, which may be small
  kItsLinks,    // only its links are measured
  kTheDevice,   // measured on the device whose memory it is
  kPresets,     // published figures
};

struct TierTraits {
  std::string_view name;  // in files and outputs: "dram"

  // Who reaches its bytes by addresses: the host's processors; a device's copy engines, at full speed. Nobody where they
  // come and go by requests to the file at Tier::path.
  bool host_reaches = false;
  bool device_reaches = false;
  bool in_file = false;

  bool can_stitch = false;  // may its pages be mapped at several addresses (stitch.hpp)?
  bool emulated = false;    // is it memory that stands for other memory, as slow as that is?
  FiguresFrom figures = FiguresFrom::kItsLinks;

  // Memory of the tier. nullptr: there is none to map, or a device maps it (device_memory.hpp).
  Result<Arena> (*map)(const Tier& tier, Bytes bytes) = nullptr;
  // Brings memory that is mapped to where the tier's lies, contents and all. nullptr: it may lie anywhere.
  Status (*settle)(const Tier& tier, const Arena& arena) = nullptr;
  // The same for whole pages of ordinary memory that programs use meanwhile, and that may leave again. nullptr: pages cannot
  // be moved there one by one.
  Status (*place)(const Tier& tier, std::span<std::byte> pages) = nullptr;

  // Slow tiers as users ask for them: names that mean something on every machine; whether a name means one of the kind;
  // and adds it, with its links, to a machine. nullptr: there are none.
  std::vector<std::string> (*names)() = nullptr;
  bool (*is_named)(std::string_view name) = nullptr;
  Status (*add)(const SlowTierOptions& slow, const std::string& spill_path, Machine& machine) = nullptr;
};

// One of the kinds. Costs a pointer.
class TierKind {
 public:
  explicit constexpr TierKind(const TierTraits& traits) : traits_(&traits) {}
  constexpr const TierTraits* operator->() const { return traits_; }
  constexpr const TierTraits& operator*() const { return *traits_; }
  friend constexpr bool operator==(TierKind, TierKind) = default;

  static const TierKind kDram;      // ordinary memory
  static const TierKind kFile;      // a preallocated file
  static const TierKind kEmulated;  // ordinary memory outside the fast arena, slowed to a preset's bandwidth
  static const TierKind kNuma;      // the memory of one NUMA node, and no other
  static const TierKind kGpu;       // a GPU's own memory
  static const TierKind kPinned;    // host memory that a GPU's copy engines reach at full speed

 private:
  const TierTraits* traits_;
};

std::span<const TierKind> tier_kinds();

inline std::string_view to_string(TierKind kind) { return kind->name; }

}  // namespace sluice::memory
