#include "sluice/policies/active_lists.hpp"

#include "sluice/base/as_index.hpp"
#include "sluice/policies/policy.hpp"

namespace sluice::policies {

ActiveLists::ActiveLists(const PolicyMemory& memory, const PolicyTuning& tuning, bool exchange)
    : memory_(memory),
      tuning_(tuning),
      exchange_(exchange),
      free_frames_(memory.fast_bytes() / tuning.page_bytes),
      pages_(as_index(pages_in(memory.address_bytes, tuning.page_bytes))),
      lists_(pages_in(memory.address_bytes, tuning.page_bytes), kLists),
      next_pass_(tuning.scan_period) {}

void ActiveLists::put(PageIndex page, List list) {
  if (list_of(page) != kNowhere) lists_.remove(list_of(page), page);
  lists_.append(list, page);
  page_at(page).list = list;
}

void ActiveLists::touch(PageIndex page, memory::MoveList& moves) {
  page_at(page).accessed = true;
  if (list_of(page) != kNowhere) return;
  const bool fast = free_frames_ > 0;
  put(page, fast ? kFastInactive : kSlowInactive);
  if (fast) --free_frames_;
  moves.add({.bytes = bytes_of(page, tuning_.page_bytes), .to = fast ? memory::kFastTier : kSlowTier});
}

AccessCharge ActiveLists::access(std::span<const Access> accesses, Seconds /*now*/, memory::MoveList& moves) {
  AccessCharge charge;
  for (const Access& access : accesses) {
    charge_in_place(charge, access, tuning_.page_bytes, [&](PageIndex page) {
      touch(page, moves);
      return is_fast(list_of(page)) ? memory::kFastTier : kSlowTier;
    });
  }
  return charge;
}

void ActiveLists::advance(Seconds from, Seconds to, memory::MoveList& moves) {
  Seconds now = from;
  do {
    if (now >= next_pass_) {
      pass();
      next_pass_ = now + tuning_.scan_period;
    }
    const Seconds end = std::min(to, next_pass_);
    const std::size_t batch = std::min(wanted_.size(), as_index(tuning_.concurrent_migrations));
    if (batch == 0) {
      now = end;
    } else if (progress_.work(batch_seconds(batch), now, end)) {
      finish_batch(batch, moves);
    }
  } while (now < to);
}

// One pass of the scan: pages age on both tiers, then the active ones of slow memory change places with the inactive
// ones of fast memory (Nimble §4; Sentinel §VII calls it IAL).
void ActiveLists::pass() {
  ++passes_;
  age(kFastActive, kFastInactive);
  age(kSlowActive, kSlowInactive);
  choose_exchanges();
}

// Second chance: not accessed since the last pass goes to the inactive list, accessed comes back.
void ActiveLists::age(List active, List inactive) {
  for (PageIndex page = lists_.first(active); page != kNoPage;) {
    const PageIndex next = lists_.behind(page);
    if (!page_at(page).accessed) put(page, inactive);
    page_at(page).accessed = false;
    page = next;
  }
  for (PageIndex page = lists_.first(inactive); page != kNoPage;) {
    const PageIndex next = lists_.behind(page);
    if (page_at(page).accessed) put(page, active);
    page_at(page).accessed = false;
    page = next;
  }
}

void ActiveLists::choose_exchanges() {
  wanted_.clear();
  progress_ = {};
  PageIndex free = free_frames_;
  PageIndex victim = lists_.first(kFastInactive);
  for (PageIndex page = lists_.first(kSlowActive); page != kNoPage; page = lists_.behind(page)) {
    if (free > 0) {
      --free;
      wanted_.push_back({.promoted = page});
    } else if (victim != kNoPage) {
      wanted_.push_back({.promoted = page, .demoted = victim});
      victim = lists_.behind(victim);
    } else {
      return;
    }
  }
}

Seconds ActiveLists::batch_seconds(std::size_t exchanges) const {
  Bytes out = 0;
  for (std::size_t i = 0; i < exchanges; ++i) out += wanted_[i].demoted == kNoPage ? 0 : tuning_.page_bytes;
  const Bytes in = static_cast<Bytes>(exchanges) * tuning_.page_bytes;
  return background_seconds(memory_, tuning_, in, out, exchange_) + tuning_.migration_seconds;
}

void ActiveLists::finish_batch(std::size_t exchanges, memory::MoveList& moves) {
  for (std::size_t i = 0; i < exchanges; ++i) {
    const Exchange exchange = wanted_.front();
    wanted_.pop_front();
    if (exchange.demoted != kNoPage) {
      put(exchange.demoted, kSlowInactive);
      moves.add({bytes_of(exchange.demoted, tuning_.page_bytes), memory::kFastTier, kSlowTier});
      ++demotions_;
    } else if (free_frames_ > 0) {
      --free_frames_;
    } else {
      continue;  // a page touched first has taken the frame meanwhile
    }
    put(exchange.promoted, kFastActive);
    moves.add({bytes_of(exchange.promoted, tuning_.page_bytes), kSlowTier, memory::kFastTier});
    ++promotions_;
  }
}

std::vector<std::pair<std::string, double>> ActiveLists::figures() const {
  return {{"passes", static_cast<double>(passes_)},
          {"pages promoted", static_cast<double>(promotions_)},
          {"pages demoted", static_cast<double>(demotions_)}};
}

PolicyEntry ial_policy() {
  return {"ial", "active and inactive lists of pages, exchanged in short passes (Nimble, as in Sentinel VII)",
          PagePolicy{.defaults = {.scan_period = 0.05, .copy_threads = 4, .concurrent_migrations = 8},
                     .make = [](const PolicyMemory& memory, const PolicyTuning& tuning) {
                       return std::make_unique<ActiveLists>(memory, tuning, true);
                     }}};
}

PolicyEntry oim_policy() {
  return {"oim", "the same lists, one pass every 5 s, no exchange (Nimble, as in ReDL IV)",
          PagePolicy{.defaults = {.scan_period = 5, .copy_threads = 4, .concurrent_migrations = 8},
                     .make = [](const PolicyMemory& memory, const PolicyTuning& tuning) {
                       return std::make_unique<ActiveLists>(memory, tuning, false);
                     }}};
}

}  // namespace sluice::policies
