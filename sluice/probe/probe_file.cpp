#include "sluice/probe/probe_file.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/base/clock.hpp"
#include "sluice/memory/transfer/deadline.hpp"
#include "sluice/probe/compute_load.hpp"
#include "sluice/probe/probe_storage.hpp"

namespace sluice::probe {
namespace {

struct Requests {
  Bytes bytes = 0;
  int queue_depth = 0;
  BytesPerSecond bandwidth = 0;
};

constexpr Bytes kTransferBytes = 4 * kMiB;  // most of the bytes of a step are in transfers of this size and more
constexpr Bytes kSmallTransfer = 256 * kKiB;
constexpr std::array<Requests, 6> kRequests{
    {{4 * kMiB, 2}, {2 * kMiB, 2}, {2 * kMiB, 4}, {kMiB, 2}, {kMiB, 4}, {kMiB, 8}}};  // 8 MiB are under way
constexpr Requests kUsualRequests{2 * kMiB, 4};                                       // where nobody chooses
constexpr Seconds kTrial = 0.1;
constexpr Seconds kSearch = 0.7;  // a slow disk gets fewer combinations tried, not a longer wait
constexpr double kAsGood = 0.93;  // of the best bandwidth
constexpr std::size_t kSteadyWindows = 3;
constexpr double kSteady = 0.1;  // the windows' rates differ by no more

using Streams = std::vector<std::unique_ptr<ProbeStream>>;

// Regions of compute beside streams.
struct FileWindow {
  Seconds seconds = 0;
  int regions = 0;
  std::vector<double> moved;  // bytes, by stream

  BytesPerSecond rate(std::size_t stream) const { return moved[stream] / seconds; }
};

// What compute loses for every byte and for every request, from what it loses for a large transfer of so many requests
// and for a small one of one.
struct Cost {
  Seconds per_byte = 0;
  Seconds per_request = 0;
};

Cost cost_of(Seconds large, Bytes large_bytes, Bytes requests, Seconds small, Bytes small_bytes) {
  const auto bytes = static_cast<double>(large_bytes), count = static_cast<double>(requests);
  const double more = bytes - count * static_cast<double>(small_bytes);
  const Seconds per_byte = more > 0 ? (large - count * small) / more : 0;
  const Seconds per_request = small - per_byte * static_cast<double>(small_bytes);
  if (per_byte <= 0) return {0, std::min(small, large / count)};
  if (per_request <= 0) return {large / bytes, 0};
  return {per_byte, per_request};
}

class FileProbe {
 public:
  FileProbe(const memory::Machine& machine, const std::vector<memory::LinkId>& links, const ProbeStorage& storage,
            const FileProbing& how)
      : machine_(machine), links_(links), storage_(storage), how_(how), load_(machine.threads) {
    if (!how.thorough) requests_ = kUsualRequests;
  }

  Result<std::vector<FileLinkFigures>> measure() {
    std::vector<std::size_t> all(links_.size());
    std::iota(all.begin(), all.end(), 0);
    SLUICE_RETURN_IF_ERROR(run_alone());
    for (const std::size_t link : all) {
      if (how_.thorough) SLUICE_RETURN_IF_ERROR(choose_requests(link));
    }
    SLUICE_ASSIGN(const FileWindow together, run_steadily(all, how_.most_windows));
    // What writes first: while another reads, a cache on the way would empty itself.
    std::ranges::stable_partition(all, [&](std::size_t link) { return writes(link); });
    std::vector<FileLinkFigures> figures(links_.size());
    for (const std::size_t link : all) {
      SLUICE_ASSIGN(figures[link], measure_link(link, together.rate(link)));
    }
    return figures;
  }

 private:
  bool writes(std::size_t link) const { return machine_.tier(machine_.link(links_[link]).to).kind->in_file; }

  // Each link in its own part of the file, so that those that run at once do not overlap.
  StreamRoom room_of(std::size_t link) const { return storage_.room(as_id<int>(link), count_of(links_)); }

  Bytes fitting(Bytes transfer_bytes) const {
    const StreamRoom room = room_of(0);
    return std::min({transfer_bytes, room.in_file.length(), room.in_memory.length()});
  }

  Result<Streams> start(const std::vector<std::size_t>& links, Bytes transfer_bytes, const Requests& requests) const {
    Streams streams;
    for (const std::size_t link : links) {
      const StreamPattern pattern{fitting(transfer_bytes), requests.bytes, requests.queue_depth};
      SLUICE_ASSIGN(auto stream,
                    ProbeStream::start(machine_, links_[link], storage_.storages(), room_of(link), pattern));
      streams.push_back(std::move(stream));
    }
    return streams;
  }

  // While compute goes on, for `least` seconds and until every stream has finished a transfer.
  Result<FileWindow> run_beside(const Streams& streams, Seconds least) {
    FileWindow window{.moved = std::vector<double>(streams.size(), 0)};
    std::vector<double> before;
    for (const auto& stream : streams) before.push_back(static_cast<double>(stream->moved()));
    const auto begin = Clock::now();
    while (window.seconds < least || (!streams.empty() && std::ranges::min(window.moved) <= 0)) {
      load_.run_region();
      ++window.regions;
      window.seconds = seconds_since(begin);
      for (std::size_t i = 0; i < streams.size(); ++i) {
        SLUICE_RETURN_IF_ERROR(streams[i]->status());
        window.moved[i] = static_cast<double>(streams[i]->moved()) - before[i];
      }
    }
    return window;
  }

  Status run_alone() {
    SLUICE_ASSIGN(const FileWindow window, run_beside({}, how_.alone));
    alone_.push_back(window.seconds / window.regions);
    return {};
  }

  // Large requests and short queues first, and the first that is as good as the best: they cost least CPU. One choice
  // for all links of the file, the larger: a disk gives each direction a share in proportion to the bytes it is asked
  // for at once, so the one with fewer would starve beside the other (an eighth of the bandwidth was seen).
  Status choose_requests(std::size_t link) {
    std::vector<Requests> tried;
    const auto begin = Clock::now();
    for (const Requests& each : kRequests) {
      if (!tried.empty() && seconds_since(begin) > kSearch) break;
      SLUICE_ASSIGN(const Streams streams, start({link}, kTransferBytes, each));
      SLUICE_ASSIGN(const FileWindow window, run_beside(streams, kTrial));
      tried.push_back({each.bytes, each.queue_depth, window.rate(0)});
    }
    const BytesPerSecond enough = kAsGood * std::ranges::max(tried, {}, &Requests::bandwidth).bandwidth;
    const Requests best = *std::ranges::find_if(tried, [&](const Requests& each) { return each.bandwidth >= enough; });
    requests_.bytes = std::max(requests_.bytes, best.bytes);
    requests_.queue_depth = std::max(requests_.queue_depth, best.queue_depth);
    return {};
  }

  // The last windows, once they are alike: caches on the way are full then.
  Result<FileWindow> run_steadily(const std::vector<std::size_t>& links, int most) {
    SLUICE_ASSIGN(const Streams streams, start(links, kTransferBytes, requests_));
    std::deque<FileWindow> windows;
    for (int window = 0; window < most && !steady(windows); ++window) {
      SLUICE_ASSIGN(const FileWindow latest, run_beside(streams, how_.window));
      windows.push_back(latest);
      if (windows.size() > kSteadyWindows) windows.pop_front();
    }
    FileWindow sum{.moved = std::vector<double>(links.size(), 0)};
    for (const FileWindow& window : windows) {
      sum.seconds += window.seconds;
      sum.regions += window.regions;
      for (std::size_t i = 0; i < links.size(); ++i) sum.moved[i] += window.moved[i];
    }
    return sum;
  }

  static bool steady(const std::deque<FileWindow>& windows) {
    if (windows.size() < kSteadyWindows) return false;
    std::vector<BytesPerSecond> totals;
    for (const FileWindow& window : windows) {
      totals.push_back(std::accumulate(window.moved.begin(), window.moved.end(), 0.0) / window.seconds);
    }
    const auto [least, most] = std::ranges::minmax(totals);
    return most - least <= kSteady * most;
  }

  Result<FileLinkFigures> measure_link(std::size_t link, BytesPerSecond together) {
    SLUICE_RETURN_IF_ERROR(run_alone());
    SLUICE_ASSIGN(const FileWindow large, run_steadily({link}, how_.most_windows_alone));
    SLUICE_ASSIGN(const Cost cost, cost_to_compute(link, large));
    SLUICE_ASSIGN(const FileWindow tiny, run_transfers(link, memory::kBlockAlignment, kTrial));
    SLUICE_RETURN_IF_ERROR(run_alone());
    const Bytes bytes = fitting(kTransferBytes);
    const Seconds each = static_cast<double>(bytes) / large.rate(0);
    FileLinkFigures figures{.request_bytes = requests_.bytes, .queue_depth = requests_.queue_depth};
    figures.latency = std::min(static_cast<double>(memory::kBlockAlignment) / tiny.rate(0), each / 2);
    figures.alone = static_cast<double>(bytes) / (each - figures.latency);
    figures.shared = figures.alone * std::min(1.0, together / large.rate(0));
    figures.lost_per_byte = std::min(cost.per_byte, 1 / figures.alone);
    figures.lost_per_request = cost.per_request;
    return figures;
  }

  Result<Cost> cost_to_compute(std::size_t link, const FileWindow& large) {
    const Bytes bytes = fitting(kTransferBytes), small_bytes = fitting(kSmallTransfer);
    const Seconds lost = lost_per_transfer(large, bytes);
    if (!how_.thorough) return Cost{lost / static_cast<double>(bytes), 0};
    SLUICE_ASSIGN(const FileWindow small, run_transfers(link, small_bytes, how_.window));
    const Bytes requests = (bytes + requests_.bytes - 1) / requests_.bytes;
    return cost_of(lost, bytes, requests, lost_per_transfer(small, small_bytes), small_bytes);
  }

  Result<FileWindow> run_transfers(std::size_t link, Bytes transfer_bytes, Seconds least) {
    SLUICE_ASSIGN(const Streams streams, start({link}, transfer_bytes, requests_));
    return run_beside(streams, least);
  }

  // Of compute's time, by what it does in a region alone.
  Seconds lost_per_transfer(const FileWindow& window, Bytes transfer_bytes) const {
    const Seconds alone = std::accumulate(alone_.begin(), alone_.end(), 0.0) / static_cast<double>(alone_.size());
    const Seconds lost = std::max(0.0, window.seconds - window.regions * alone);
    return lost * static_cast<double>(transfer_bytes) / window.moved.front();
  }

  const memory::Machine& machine_;
  const std::vector<memory::LinkId>& links_;
  const ProbeStorage& storage_;
  const FileProbing& how_;
  ComputeLoad load_;
  Requests requests_;
  std::vector<Seconds> alone_;  // a region takes, by window
};

}  // namespace

Result<std::vector<FileLinkFigures>> measure_file_links(const memory::Machine& machine,
                                                        const std::vector<memory::LinkId>& links,
                                                        const FileProbing& how) {
  SLUICE_ASSIGN(const ProbeStorage storage, ProbeStorage::open(machine, machine.link(links.front()), how.file_bytes));
  return FileProbe(machine, links, storage, how).measure();
}

}  // namespace sluice::probe
