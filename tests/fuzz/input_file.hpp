// The input as a file, for readers of files: one of this process, in memory where the system has such a folder.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace sluice::tests {

// A folder of this process, removed when it ends.
inline const std::filesystem::path& input_folder() {
  struct Folder {
    Folder() {
      std::error_code missing;
      const bool in_memory = std::filesystem::is_directory("/dev/shm", missing);
      path = (in_memory ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path()) /
             ("sluice_fuzz_" + std::to_string(::getpid()));
      std::filesystem::create_directories(path);
    }
    ~Folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
    std::filesystem::path path;
  };
  static const Folder folder;
  return folder.path;
}

inline std::filesystem::path input_file(std::string_view input, const std::string& name = "input") {
  std::filesystem::path path = input_folder() / name;
  std::ofstream(path, std::ios::binary) << input;
  return path;
}

}  // namespace sluice::tests
