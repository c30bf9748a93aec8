#include "sluice/exec/ranks/mpi_ranks.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/base/parse.hpp"
#include "sluice/exec/ranks/open_mpi.hpp"

namespace sluice::exec {
namespace {

// Counts and places of parts, as MPI takes them.
struct Parts {
  std::vector<int> counts, places;
};

Status check_size(Bytes bytes) {
  if (bytes <= std::numeric_limits<int>::max()) return {};
  return Error{ErrorCode::kUnsupported,
               fmt::format("MPI sends at most 2 GiB at once, and a tensor has {}: cut it by --finer-slices",
                           format_bytes(bytes))};
}

Parts parts_of(Bytes total, Bytes part_bytes, int count) {
  Parts parts;
  for (int k = 0; k < count; ++k) {
    const Bytes bytes = kernels::bytes_of_part(total, part_bytes, k);
    parts.counts.push_back(static_cast<int>(bytes));
    parts.places.push_back(bytes == 0 ? 0 : static_cast<int>(part_bytes * k));
  }
  return parts;
}

Status check_code(int code, const char* what) {
  if (code == MPI_SUCCESS) return {};
  return Error{ErrorCode::kIo, fmt::format("{} failed (MPI's code {})", what, code)};
}

int ranks_started() {
  const char* const size = std::getenv("OMPI_COMM_WORLD_SIZE");
  const Result<std::int64_t> ranks = parse_integer(size == nullptr ? "1" : size, 1, std::numeric_limits<int>::max());
  return ranks.ok() ? static_cast<int>(*ranks) : 1;
}

class MpiRanks : public kernels::Ranks {
 public:
  static Result<std::unique_ptr<kernels::Ranks>> create(const OpenMpi& mpi) {
    int provided = 0;
    SLUICE_RETURN_IF_ERROR(check_code(mpi.init(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided), "starting MPI"));
    std::unique_ptr<MpiRanks> ranks(new MpiRanks(mpi));
    if (provided < MPI_THREAD_MULTIPLE) {
      return Error{ErrorCode::kUnsupported, "this MPI cannot be called by several threads (MPI_THREAD_MULTIPLE)"};
    }
    SLUICE_RETURN_IF_ERROR(check_code(mpi.size(mpi.world, &ranks->count_), "counting ranks"));
    if (ranks->count_ != ranks_started()) {
      return Error{ErrorCode::kUnsupported,
                   fmt::format("the environment says that {} processes were started together, and MPI knows {}: run "
                               "mpirun -n {} sluice ...",
                               ranks_started(), ranks->count_, ranks_started())};
    }
    SLUICE_RETURN_IF_ERROR(check_code(mpi.rank(mpi.world, &ranks->rank_), "asking for the rank"));
    for (MPI_Comm& channel : ranks->channels_) {
      SLUICE_RETURN_IF_ERROR(check_code(mpi.duplicate(mpi.world, &channel), "opening a channel"));
    }
    return std::unique_ptr<kernels::Ranks>(std::move(ranks));
  }
  ~MpiRanks() override { mpi_.finalize(); }

  int count() const override { return count_; }
  int rank() const override { return rank_; }
  Bytes bytes_sent() const override { return sent_; }

  Status exchange(kernels::Channel on, std::span<const std::byte> parts, Bytes part_bytes,
                  std::span<std::byte> received) override {
    const auto total = std::ssize(parts);
    SLUICE_RETURN_IF_ERROR(check_size(std::max(total, std::ssize(received))));
    const Parts out = parts_of(total, part_bytes, count_);
    const Bytes own = kernels::bytes_of_part(total, part_bytes, rank_);
    const Parts in = parts_of(own * count_, own, count_);
    sent_ += total - own;
    return check_code(mpi_.exchange(parts.data(), out.counts.data(), out.places.data(), mpi_.bytes, received.data(),
                                    in.counts.data(), in.places.data(), mpi_.bytes, channel(on)),
                      "exchanging parts of gradients");
  }

  Status gather(kernels::Channel on, std::span<const std::byte> part, Bytes part_bytes,
                std::span<std::byte> all) override {
    const auto total = std::ssize(all);
    SLUICE_RETURN_IF_ERROR(check_size(total));
    const Parts in = parts_of(total, part_bytes, count_);
    sent_ += std::ssize(part) * (count_ - 1);
    return check_code(mpi_.gather(part.data(), count_of(part), mpi_.bytes, all.data(), in.counts.data(),
                                  in.places.data(), mpi_.bytes, channel(on)),
                      "gathering the ranks' parts");
  }

  Status share(std::span<std::byte> bytes) override {
    SLUICE_RETURN_IF_ERROR(check_size(std::ssize(bytes)));
    if (rank_ == 0) sent_ += std::ssize(bytes) * (count_ - 1);
    return check_code(
        mpi_.share(bytes.data(), count_of(bytes), mpi_.bytes, 0, channel(kernels::Channel::kBetweenSteps)),
        "sharing what the first rank has");
  }

 private:
  explicit MpiRanks(const OpenMpi& mpi) : mpi_(mpi) {}
  MPI_Comm channel(kernels::Channel on) const { return channels_.at(as_index(on)); }

  const OpenMpi& mpi_;
  int count_ = 1, rank_ = 0;
  std::array<MPI_Comm, kernels::kChannels> channels_{};
  std::atomic<Bytes> sent_ = 0;
};

}  // namespace

Result<std::unique_ptr<kernels::Ranks>> open_mpi_ranks() {
  if (ranks_started() <= 1) return std::unique_ptr<kernels::Ranks>();
  SLUICE_ASSIGN(const OpenMpi* mpi, open_mpi());
  return MpiRanks::create(*mpi);
}

Status find_mpi() {
  SLUICE_RETURN_IF_ERROR(open_mpi());
  return {};
}

void end_all_ranks(int exit_code) {
  if (ranks_started() <= 1) return;
  const Result<const OpenMpi*> mpi = open_mpi();
  if (mpi.ok()) (*mpi)->abort((*mpi)->world, exit_code);
}

}  // namespace sluice::exec
