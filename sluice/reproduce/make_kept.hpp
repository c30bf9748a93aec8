// Makes kept results, one after the other, each whole or not at all. A command writes into docs/results/.making, and
// what it has written gets its names when it has ended well; the old .txt is removed first and the new one comes last,
// so that whatever stops us in between leaves a result that is missing, never one with another one's commit.
//
// One process at a time makes results in a checkout: others are refused. Errors: kIo where docs/results or the folder
// for scratch files cannot be written.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "sluice/base/result.hpp"
#include "sluice/reproduce/files/catalog.hpp"

namespace sluice {

class KeptMaker {
 public:
  // `sluice`: the program that commands mean by $sluice. `spill`: $spill.
  static Result<KeptMaker> start(const Catalog& catalog, std::filesystem::path sluice, std::filesystem::path spill);
  KeptMaker(KeptMaker&& other) noexcept;
  KeptMaker& operator=(KeptMaker&&) = delete;
  ~KeptMaker();

  // kInterrupted when `goes_on` says no: nothing is kept of it then. Other errors say what its command said last.
  Status make(const KeptResult& result, const std::function<bool()>& goes_on);

 private:
  KeptMaker() = default;
  Status run(const KeptResult& result, const CommandWords& words, const std::filesystem::path& output,
             const std::function<bool()>& goes_on) const;
  Status keep(const KeptResult& result, const std::string& text) const;
  std::filesystem::path scratch(const std::string& name) const;
  CommandWords filled(const KeptResult& result, const CommandWords& words) const;

  const Catalog* catalog_ = nullptr;
  std::filesystem::path sluice_, spill_;
  int lock_ = -1;  // of docs/results
};

}  // namespace sluice
