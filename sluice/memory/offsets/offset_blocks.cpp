#include "sluice/memory/offsets/offset_blocks.hpp"

#include <algorithm>
#include <map>

#include "sluice/base/as_index.hpp"
#include "sluice/base/check.hpp"

namespace sluice::memory {
namespace {

using Moment = std::int32_t;

struct MomentChanges {
  bool ends = false;
  bool begins = false;
  Section section = 0;  // the first one from this moment on
};

// Which sections there are, by the moments at which items begin or end.
std::map<Moment, MomentChanges> sections_at(std::span<const OffsetItem> items) {
  std::map<Moment, MomentChanges> moments;
  for (const OffsetItem& item : items) {
    if (item.bytes == 0) continue;
    for (const Interval<Moment>& live : item.live) {
      moments[live.begin].begins = true;
      moments[live.end].ends = true;
    }
  }
  Section count = 0;
  bool grown = false;
  for (auto& [moment, changes] : moments) {
    if (changes.ends && grown) ++count;
    if (changes.ends) grown = false;
    if (changes.begins) grown = true;
    changes.section = count;
  }
  return moments;
}

void find_busiest(std::vector<OffsetBlock>& blocks) {
  Section sections = 0;
  for (const OffsetBlock& block : blocks) sections = std::max(sections, block.span().end);
  std::vector<Bytes> busy(as_index(sections), 0);
  for (const OffsetBlock& block : blocks) {
    for (const Interval<Section>& range : block.sections) {
      for (Section s = range.begin; s < range.end; ++s) busy[as_index(s)] += block.bytes;
    }
  }
  for (OffsetBlock& block : blocks) {
    for (const Interval<Section>& range : block.sections) {
      const auto most = std::max_element(busy.begin() + range.begin, busy.begin() + range.end);
      block.busiest = std::max(block.busiest, *most);
    }
  }
}

}  // namespace

bool live_together(const OffsetBlock& a, const OffsetBlock& b) {
  if (!a.span().overlaps(b.span())) return false;
  return std::ranges::any_of(a.sections, [&](const Interval<Section>& mine) {
    return std::ranges::any_of(b.sections, [&](const Interval<Section>& theirs) { return mine.overlaps(theirs); });
  });
}

std::vector<OffsetBlock> blocks_of(std::span<const OffsetItem> items) {
  const std::map<Moment, MomentChanges> moments = sections_at(items);
  std::vector<OffsetBlock> blocks;
  for (std::size_t i = 0; i < items.size(); ++i) {
    SLUICE_CHECK(!items[i].fixed_offset, "the search places every item by itself");
    if (items[i].bytes == 0 || items[i].live.empty()) continue;
    OffsetBlock block{i, align_up(items[i].bytes, items[i].alignment), items[i].alignment, {}, 0, 0};
    for (const Interval<Moment>& live : items[i].live) {
      block.sections.push_back({moments.at(live.begin).section, moments.at(live.end).section});
      block.length += block.sections.back().length();
    }
    std::ranges::sort(block.sections);
    blocks.push_back(std::move(block));
  }
  find_busiest(blocks);
  return blocks;
}

}  // namespace sluice::memory
