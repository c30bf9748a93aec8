// Why a planner has something moved: for people (report/explanation.hpp), not for whoever runs the plan.
//
// One vocabulary for all planners, so that plans of different planners can be compared. A planner that has no word for
// its reason leaves kUnsaid.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace sluice::plan {

enum class Cause {
  kUnsaid,
  // Why it leaves.
  kNotNeededSoon,
  kRoomForOthers,
  kLeastRecentlyUsed,
  kStepEnds,
  kPlacedInSlow,
  kNeededLast,
  kLayerIsOver,
  kForOtherProcessor,
  // Why it comes when it does.
  kAhead,
  kNoRoomBefore,
  kLinkWouldBeLate,
  kBesideAnOp,
  kMissing,
  kAsSoonAsRoom,
  kNextLayer,
  kUpdatedElsewhere,
};

struct CauseText {
  Cause cause = Cause::kUnsaid;
  std::string_view name;  // in plan files
  std::string_view text;  // after "because" or a colon
};

inline constexpr std::array<CauseText, 16> kCauseTexts{{
    {Cause::kNotNeededSoon, "not-needed-soon", "neither this interval nor the next one uses it"},
    {Cause::kRoomForOthers, "room-for-others", "others in its room save more copying until it is needed again"},
    {Cause::kLeastRecentlyUsed, "least-recently-used", "an op needs room, and this was used longest ago"},
    {Cause::kStepEnds, "step-ends", "the next step begins with it there"},
    {Cause::kPlacedInSlow, "placed-in-slow", "the placement has no room for it until it is needed again"},
    {Cause::kNeededLast, "needed-last", "an op needs room, and of what it may take this is needed last"},
    {Cause::kLayerIsOver, "layer-is-over", "the layer that begins does not use it"},
    {Cause::kForOtherProcessor, "for-other-processor", "another processor works with it there"},
    {Cause::kAhead, "ahead", "an interval before the one that needs it"},
    {Cause::kNoRoomBefore, "no-room-before", "later than an interval ahead, because there is no room before"},
    {Cause::kLinkWouldBeLate, "link-would-be-late", "earlier than an interval ahead, because the link is busy later"},
    {Cause::kBesideAnOp, "beside-an-op", "while an op runs that takes about as long"},
    {Cause::kMissing, "missing", "an op finds it missing and waits"},
    {Cause::kAsSoonAsRoom, "as-soon-as-room", "as early as there is room, in the order in which ops need what comes"},
    {Cause::kNextLayer, "next-layer", "the layer that begins uses it, and waits for all of that"},
    {Cause::kUpdatedElsewhere, "updated-elsewhere", "another processor has updated it"},
}};

// nullptr for kUnsaid.
constexpr const CauseText* text_of(Cause cause) {
  for (const CauseText& each : kCauseTexts) {
    if (each.cause == cause) return &each;
  }
  return nullptr;
}

constexpr std::optional<Cause> find_cause(std::string_view name) {
  for (const CauseText& each : kCauseTexts) {
    if (each.name == name) return each.cause;
  }
  return std::nullopt;
}

}  // namespace sluice::plan
