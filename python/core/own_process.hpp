// Objects with threads belong to the process that made them: a child has them in its memory, but not their threads, so it
// lets them be where it would destroy them.
#pragma once

#include <unistd.h>

#include <memory>

namespace sluice::python {

template <typename T>
std::shared_ptr<T> of_this_process(std::unique_ptr<T> object) {
  return {object.release(), [owner = ::getpid()](T* held) {
            if (::getpid() == owner) delete held;
          }};
}

}  // namespace sluice::python
