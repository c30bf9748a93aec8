// Streams transfers over one file link, as a lane does, and times them. For the probe of file tiers.
//
// The stream walks round and round through a part of the file and a part of the memory tier; each transfer begins where
// the one before it ended. Streams of the two directions that run at once get parts that do not overlap. A stream is
// used by one thread at a time; the link is not throttled, whatever the machine says.
#pragma once

#include <atomic>
#include <latch>

#include "sluice/base/interval.hpp"
#include "sluice/exec/transfer/engine_factory.hpp"

namespace sluice {

// What streams that run beside each other agree on. They start together, and stop when each has moved `enough` or the
// time is up.
struct Together {
  Together(int of, Bytes bytes, Seconds seconds) : streams(of), enough(bytes), limit(seconds), ready(of) {}

  const int streams;
  const Bytes enough;
  const Seconds limit;
  std::latch ready;
  std::atomic<int> done{0};  // streams that need no more
};

class ProbeStream {
 public:
  // `storages` must outlive the stream, and hold what both parts name.
  ProbeStream(const Machine& machine, LinkId link, const TierStorages& storages, Interval<Bytes> in_file,
              Interval<Bytes> in_memory);

  // Bytes of one request, and how many are under way at once.
  void set_requests(Bytes bytes, int queue_depth);

  // Seconds for `count` transfers of `bytes` each, all handed to the engine at once.
  Result<Seconds> time_transfers(Bytes bytes, int count);

  // Bandwidth of `bytes` in transfers of at most 16 MiB.
  Result<BytesPerSecond> bandwidth(Bytes bytes);

  // Bandwidth while the other streams of `together` run in threads of their own: of what finishes after the first
  // eighth. The queue never runs dry until all have enough. An error stops the others too.
  Result<BytesPerSecond> bandwidth_beside(Together& together);

 private:
  Link& link() { return machine_.links[static_cast<std::size_t>(link_)]; }
  void submit(TransferEngine& engine, TransferIndex index, Bytes bytes);
  Result<BytesPerSecond> stream_beside(Together& together);

  Machine machine_;
  LinkId link_ = 0;
  const TierStorages& storages_;
  Interval<Bytes> in_file_;
  Interval<Bytes> in_memory_;
  Bytes next_ = 0;  // where in its part of the file the next transfer goes
  bool writes_ = false;
};

}  // namespace sluice
