#include "python/core/paged_binding.hpp"

#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "python/core/own_process.hpp"
#include "python/core/raise_error.hpp"
#include "sluice/memory/faults/fault_handler.hpp"
#include "sluice/memory/paging/paged_memory.hpp"

namespace sluice::python {
namespace {

namespace py = pybind11;
using memory::PagedMemory;

// What tensors are made of: as long as one of them lives, so does the memory.
struct Segment {
  std::shared_ptr<PagedMemory> memory;
  std::byte* begin = nullptr;
  Bytes bytes = 0;
};

class Pages {
 public:
  using Given = std::tuple<std::string, Bytes, Bytes, bool>;  // file, offset, bytes, whether it changes

  Pages(const std::vector<Given>& segments, Bytes resident, std::string folder) {
    PagedMemory::Config config{.segments = {}, .resident = resident, .folder = std::move(folder)};
    for (const auto& [file, offset, bytes, changes] : segments)
      config.segments.push_back({file, offset, bytes, changes});
    sizes_ = segments;
    memory_ = of_this_process(value_or_raise(PagedMemory::open(std::move(config))));
  }

  Segment segment(std::size_t number) const {
    return {memory_, memory_->segment(number), std::get<2>(sizes_.at(number))};
  }
  PagedMemory& memory() const { return *memory_; }

 private:
  std::vector<Given> sizes_;
  std::shared_ptr<PagedMemory> memory_;
};

}  // namespace

void bind_paged_memory(py::module_& module) {
  py::class_<Segment>(module, "PagedSegment", py::buffer_protocol(),
                      "Bytes of a PagedMemory; a buffer to make tensors of.")
      .def_buffer([](const Segment& segment) {
        return py::buffer_info(reinterpret_cast<std::uint8_t*>(segment.begin), static_cast<py::ssize_t>(segment.bytes));
      });
  py::class_<PagedMemory::Counts>(module, "PagedCounts", "What a PagedMemory has done since it was opened.")
      .def_readonly("read", &PagedMemory::Counts::read)
      .def_readonly("written", &PagedMemory::Counts::written)
      .def_readonly("uses", &PagedMemory::Counts::uses)
      .def_readonly("waits", &PagedMemory::Counts::waits)
      .def_readonly("resident", &PagedMemory::Counts::resident);
  py::class_<Pages>(module, "PagedMemory", "Files as memory, of which a stated part is there.")
      .def(py::init<std::vector<Pages::Given>, Bytes, std::string>(), py::arg("segments"), py::arg("resident"),
           py::arg("folder"), "segments: (file or \"\" for zeros, offset, bytes, whether it changes).")
      .def("segment", &Pages::segment, py::arg("number"))
      .def(
          "set_resident", [](const Pages& pages, Bytes bytes) { pages.memory().set_resident(bytes); }, py::arg("bytes"))
      .def("counts", [](const Pages& pages) { return pages.memory().counts(); })
      .def(
          "check",
          [](const Pages& pages) {
            memory::keep_fault_handler();  // libraries that take SIGSEGV behind us would end the process at a store
            raise_unless_ok(pages.memory().check_unchanged());
            raise_unless_ok(pages.memory().take_problem());
          },
          "Raises what has gone wrong: a file that was changed, a disk that is full.")
      .def_property_readonly_static("least_resident", [](const py::object&) { return PagedMemory::least_resident(); });
}

}  // namespace sluice::python
