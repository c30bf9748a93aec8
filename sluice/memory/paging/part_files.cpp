#include "sluice/memory/paging/part_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/memory/transfer/file_engine.hpp"

namespace sluice::memory {
namespace {

Bytes address_of(const std::byte* memory) { return reinterpret_cast<Bytes>(memory); }

std::unique_ptr<TransferQueue> queue_of(std::unique_ptr<TransferEngine> engine, const char* name) {
  return std::make_unique<TransferQueue>(std::move(engine),
                                         TransferQueue::Config{.thread = {{.name = name, .prompt = true}}});
}

}  // namespace

Result<std::unique_ptr<PartFiles>> PartFiles::open(const std::vector<PagedSegment>& segments, Bytes part_bytes,
                                                   const std::string& folder) {
  std::unique_ptr<PartFiles> files(new PartFiles(part_bytes));
  for (const PagedSegment& each : segments) SLUICE_RETURN_IF_ERROR(files->place(each));
  if (files->spill_bytes_ > 0) SLUICE_RETURN_IF_ERROR(files->open_spill(folder));
  SLUICE_RETURN_IF_ERROR(files->open_sources());
  return files;
}

Status PartFiles::place(const PagedSegment& segment) {
  Placed placed;
  placed.first_part = static_cast<PartId>(bytes_ / part_bytes_);
  placed.file_offset = align_down(segment.offset, kBlockAlignment);
  const Bytes before = segment.offset - placed.file_offset;
  placed.begin = bytes_ + before;
  if (!segment.file.empty()) {
    SLUICE_ASSIGN(placed.source, source_of(segment.file));
    const Bytes held = sources_[as_index(placed.source)]->bytes();
    if (segment.offset + segment.bytes > held) {
      return bad_input(fmt::format("'{}' has {}, and {} at offset {} are wanted of it: it is cut off", segment.file,
                                   format_bytes(held), format_bytes(segment.bytes), segment.offset));
    }
  }
  const Bytes whole = align_up(before + segment.bytes, part_bytes_);
  if (segment.changes) placed.spill_offset = std::exchange(spill_bytes_, spill_bytes_ + whole);
  bytes_ += whole;
  segments_.push_back(placed);
  return {};
}

Result<int> PartFiles::source_of(const std::string& file) {
  const auto known = std::ranges::find(sources_, file, [](const auto& each) { return each->path(); });
  if (known != sources_.end()) return static_cast<int>(known - sources_.begin());
  SLUICE_ASSIGN(auto opened, SourceFile::open(file));
  sources_.push_back(std::move(opened));
  return static_cast<int>(sources_.size()) - 1;
}

Status PartFiles::open_spill(const std::string& folder) {
  SLUICE_ASSIGN(SpillFile file, SpillFile::open(folder, spill_bytes_));
  spill_.emplace(std::move(file));
  for (const auto direction : {UringEngine::Direction::kFromFile, UringEngine::Direction::kToFile}) {
    UringEngine::Config config;
    config.direction = direction;
    config.arena_bytes = std::numeric_limits<Bytes>::max();  // addresses, anywhere
    config.registers = false;
    config.tier = "file";
    SLUICE_ASSIGN(auto engine, make_file_engine(*spill_, std::move(config)));
    const bool reads = direction == UringEngine::Direction::kFromFile;
    (reads ? spill_in_ : spill_out_) = queue_of(std::move(engine), reads ? "file>memory" : "memory>file");
  }
  return {};
}

Status PartFiles::open_sources() {
  for (const auto& source : sources_) {
    SLUICE_ASSIGN(auto engine, source->engine());
    source_in_.push_back(queue_of(std::move(engine), "source>memory"));
  }
  return {};
}

const PartFiles::Placed& PartFiles::segment_of(PartId id) const {
  const auto after = std::ranges::upper_bound(segments_, id, {}, &Placed::first_part);
  return *(after - 1);
}

Bytes PartFiles::source_offset(PartId id) const {
  const Placed& segment = segment_of(id);
  return segment.file_offset + (id - segment.first_part) * part_bytes_;
}

Bytes PartFiles::spill_offset(PartId id) const {
  const Placed& segment = segment_of(id);
  return segment.spill_offset + (id - segment.first_part) * part_bytes_;
}

Bytes PartFiles::bytes_in_blocks(PartId id, bool changed) const {
  if (changed) return part_bytes_;
  const int source = segment_of(id).source;
  if (source < 0) return 0;
  return std::min(part_bytes_, align_down(sources_[as_index(source)]->bytes() - source_offset(id), kBlockAlignment));
}

bool PartFiles::read(PartId id, bool changed, std::byte* into, WhenDone when_done) const {
  const Bytes bytes = bytes_in_blocks(id, changed);
  if (bytes == 0) return false;
  if (changed) {
    (void)spill_in_->put({spill_offset(id), address_of(into), bytes}, std::move(when_done));
  } else {
    TransferQueue& queue = *source_in_[as_index(segment_of(id).source)];
    (void)queue.put({source_offset(id), address_of(into), bytes}, std::move(when_done));
  }
  return true;
}

// The bytes of a file behind its last whole block come through the page cache.
Status PartFiles::fill_rest(PartId id, bool changed, std::byte* into) const {
  const Bytes filled = bytes_in_blocks(id, changed);
  std::fill(into + filled, into + part_bytes_, std::byte{0});
  if (changed || segment_of(id).source < 0) return {};
  const SourceFile& source = *sources_[as_index(segment_of(id).source)];
  const Bytes rest = std::min(part_bytes_, source.bytes() - source_offset(id)) - filled;
  return rest > 0 ? source.read(source_offset(id) + filled, into + filled, rest) : Status();
}

void PartFiles::write(PartId id, std::byte* from, WhenDone when_done) const {
  (void)spill_out_->put({address_of(from), spill_offset(id), part_bytes_}, std::move(when_done));
}

Status PartFiles::check_unchanged() const {
  for (const auto& source : sources_) SLUICE_RETURN_IF_ERROR(source->check_unchanged());
  return {};
}

void PartFiles::close() {
  source_in_.clear();
  spill_in_.reset();
  spill_out_.reset();
}

}  // namespace sluice::memory
