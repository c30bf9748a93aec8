// What a user may set of a planner or a policy: members of a struct, each declared once.
//
//   struct SwarmConfig {
//     int particles = 500;
//   };
//   const Settings kSwarm{SwarmConfig{},
//                         {setting<&SwarmConfig::particles>({.name = "particles", .help = "that search together",
//                                                            .source = "section 5.1", .least = 1, .most = 1e6})}};
//
// As users write them, behind a name: `home:particles=100`, `sentinel:migration=direct`, `um:page=2MiB`.
#pragma once

#include <any>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/base/units.hpp"

namespace sluice {

struct Setting {
  std::string_view name = {};    // as the user writes it
  std::string_view help = {};    // one line
  std::string_view source = {};  // where the default is from: a section of the paper, or "ours"
  double least = 0;
  double most = 0;
  // What the user writes instead of numbers, if there are any: the value is then the index of a word.
  std::vector<std::string_view> words = {};
  bool size = false;  // bytes, written as "2MiB"

  // The rest is setting()'s.
  bool whole = false;  // only whole numbers
  double (*get)(const std::any& config) = nullptr;
  void (*set)(std::any& config, double value) = nullptr;

  // kBadInput says what is wrong with the text or the number, and nothing of the setting.
  Result<double> read(std::string_view text) const;
  Status check(double value) const;
};

template <auto MemberPointer>
struct MemberType;
template <typename Config, typename Member, Member Config::*MemberPointer>
struct MemberType<MemberPointer> {
  using Struct = Config;
  using Type = Member;
};

// A row for this member: a number, a bool (0 or 1) or an enum that counts from 0 in the order of `words`.
template <auto MemberPointer>
Setting setting(Setting row) {
  using Config = typename MemberType<MemberPointer>::Struct;
  using Member = typename MemberType<MemberPointer>::Type;
  row.whole = !std::is_floating_point_v<Member>;
  if constexpr (std::same_as<Member, bool>) row.most = 1;
  if (!row.words.empty()) row.most = static_cast<double>(row.words.size() - 1);
  row.get = [](const std::any& config) {
    return static_cast<double>(std::any_cast<const Config&>(config).*MemberPointer);
  };
  row.set = [](std::any& config, double value) {
    using Number = std::conditional_t<std::is_enum_v<Member>, int, Member>;
    std::any_cast<Config&>(config).*MemberPointer = static_cast<Member>(static_cast<Number>(value));
  };
  return row;
}

// All of one planner or policy.
struct Settings {
  std::any defaults = {};  // the struct; empty where nothing can be set
  std::vector<Setting> rows = {};

  const Setting* find(std::string_view name) const;  // nullptr: there is none
  std::string names() const;                         // "page, period"
};

// "gap from 0 to 1", "seed from 0 to 1e+09, whole" or "migration one of direct, all".
std::string range_of(const Setting& setting);
// "0.01", or a word.
std::string text_of(const Setting& setting, const std::any& config);

// What stands behind a name, as written: "um:page=2MiB:fault" has {"page", "2MiB"} and {"fault", none}.
struct WrittenSetting {
  std::string_view name;
  std::optional<std::string_view> value;
};
std::string_view name_in(std::string_view text);  // the part ahead of them
std::vector<WrittenSetting> settings_in(std::string_view text);

}  // namespace sluice
