// Ranks that are threads of one process, for tests: the same rules as those over MPI (kernels/ranks.hpp), no network.
#pragma once

#include <algorithm>
#include <barrier>
#include <memory>
#include <thread>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/kernels/ranks.hpp"

namespace sluice::testing {

class ThreadRanks {
 public:
  explicit ThreadRanks(int count) : count_(count) {
    for (auto& channel : channels_) channel = std::make_unique<Meeting>(count);
    for (int rank = 0; rank < count; ++rank) ranks_.push_back(std::make_unique<One>(*this, rank));
  }

  // Calls body(ranks) on a thread for each.
  template <typename Body>
  void run(const Body& body) {
    std::vector<std::jthread> threads;
    for (const auto& each : ranks_) threads.emplace_back([&body, &each] { body(*each); });
  }

 private:
  // What every rank shows the others between two arrivals.
  struct Meeting {
    explicit Meeting(int count) : shown(as_index(count)), all(count) {}
    std::vector<std::span<const std::byte>> shown;
    std::barrier<> all;
  };

  class One : public kernels::Ranks {
   public:
    One(ThreadRanks& group, int rank) : group_(group), rank_(rank) {}
    int count() const override { return group_.count_; }
    int rank() const override { return rank_; }
    Bytes bytes_sent() const override { return sent_; }

    Status exchange(kernels::Channel channel, std::span<const std::byte> parts, Bytes part_bytes,
                    std::span<std::byte> received) override {
      const auto total = std::ssize(parts);
      const Bytes own = kernels::bytes_of_part(total, part_bytes, rank_);
      sent_ += total - own;
      return meet(channel, parts, [&](std::size_t from, std::span<const std::byte> its) {
        if (own > 0) copy(its, part_bytes * rank_, own, received, own * static_cast<Bytes>(from));
      });
    }

    Status gather(kernels::Channel channel, std::span<const std::byte> part, Bytes part_bytes,
                  std::span<std::byte> all) override {
      sent_ += std::ssize(part) * (count() - 1);
      return meet(channel, part, [&](std::size_t from, std::span<const std::byte> its) {
        if (!its.empty()) copy(its, 0, std::ssize(its), all, part_bytes * static_cast<Bytes>(from));
      });
    }

    Status share(std::span<std::byte> bytes) override {
      return meet(kernels::Channel::kBetweenSteps, bytes, [&](std::size_t from, std::span<const std::byte> its) {
        if (from == 0 && rank_ != 0) std::ranges::copy(its, bytes.begin());
      });
    }

   private:
    static void copy(std::span<const std::byte> from, Bytes begin, Bytes count, std::span<std::byte> to, Bytes at) {
      std::ranges::copy(from.subspan(as_index(begin), as_index(count)), to.begin() + at);
    }

    template <typename Take>
    Status meet(kernels::Channel channel, std::span<const std::byte> own, const Take& take) {
      Meeting& meeting = *group_.channels_[as_index(channel)];
      meeting.shown[as_index(rank_)] = own;
      meeting.all.arrive_and_wait();
      for (std::size_t from = 0; from < meeting.shown.size(); ++from) take(from, meeting.shown[from]);
      meeting.all.arrive_and_wait();
      return {};
    }

    ThreadRanks& group_;
    int rank_;
    Bytes sent_ = 0;
  };

  int count_;
  std::unique_ptr<Meeting> channels_[kernels::kChannels];
  std::vector<std::unique_ptr<One>> ranks_;
};

}  // namespace sluice::testing
