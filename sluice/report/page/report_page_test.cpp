// The whole page of one small step: every number that it shows is the document's, as it stands there. And a command's page
// of charts.
#include "sluice/report/page/report_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "sluice/memory/presets.hpp"
#include "sluice/report/page/assets.hpp"
#include "sluice/report/page/chart_page.hpp"
#include "sluice/report/page/collect_report.hpp"
#include "sluice/report/page/html.hpp"
#include "sluice/train/workload/workload.hpp"

namespace sluice::report {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kScriptBegin = "<script type=\"application/json\" id=\"report-data\">";

json embedded_in(const std::string& page) {
  const std::size_t begin = page.find(kScriptBegin) + kScriptBegin.size();
  return json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

std::string tables_of(const std::string& page) { return page.substr(0, page.find(kScriptBegin)); }

class ReportPageTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const train::Workload workload =
        train::build_workload({.model = "resnet20", .shape = {.batch = 2, .image_size = 16}, .threads = 1}).value();
    memory::Machine machine = memory::make_machine({.threads = 1, .slow = {{"pcie3", kGiB}}}).value();
    profile::Profile profile;
    profile.op_seconds.assign(workload.graph().ops().size(), 1e-4);
    ReportRequest request{.planner = "joint",
                          .planners = {"fast-only", "on-demand", "joint"},
                          .fast = {parse_memory_size("60%").value()},
                          .fast_text = "60%",
                          .shares = {0.01, 0.6, 1.0},
                          .how_measured = "By hand.",
                          .commands = {{"This report", "sluice report <model>"}}};
    const auto ignore = [](std::string_view, std::int64_t, std::int64_t) {};
    document_ = collect_report(workload, machine, profile, nullptr, request, ignore, [] { return false; }).value();
    page_ = report_page(document_);
  }

  static inline json document_;
  static inline std::string page_;
};

TEST_F(ReportPageTest, EmbedsItsDocument) { EXPECT_EQ(embedded_in(page_), document_); }

TEST_F(ReportPageTest, ShowsOnlyNumbersOfTheDocument) {
  const std::string tables = tables_of(page_);
  const std::regex shown("<data value=\"([^\"]*)\" data-at=\"([^\"]*)\">([^<]*)</data>");
  std::size_t count = 0;
  for (std::sregex_iterator each(tables.begin(), tables.end(), shown), end; each != end; ++each, ++count) {
    const json& entry = document_.at(json::json_pointer((*each)[2].str()));
    EXPECT_EQ(json::parse((*each)[1].str()), entry) << (*each)[2];
  }
  EXPECT_GT(count, 50U);
  // And no other: what is left of the tables' cells without those, names and stories has no digits.
  const std::string rest = std::regex_replace(tables, shown, "");
  const std::regex cell("<td class=\"number\">([^<]*)</td>");
  for (std::sregex_iterator each(rest.begin(), rest.end(), cell), end; each != end; ++each) {
    EXPECT_EQ((*each)[1].str().find_first_of("0123456789"), std::string::npos) << (*each)[1];
  }
}

TEST_F(ReportPageTest, HasAPlaceForEveryChart) {
  for (const char* id : {"memory-0", "memory-1", "timeline", "planners", "curve", "breakdown"}) {
    EXPECT_THAT(page_, HasSubstr("id=\"chart-" + std::string(id) + "\""));
  }
}

TEST_F(ReportPageTest, SaysWhatIsEmulatedAndWhatCannotBe) {
  EXPECT_THAT(page_, HasSubstr("slow memory emulated"));
  EXPECT_THAT(page_, HasSubstr("the smallest budget"));
  EXPECT_THAT(page_, HasSubstr("sluice report &lt;model&gt;"));
  EXPECT_THAT(tables_of(page_), Not(HasSubstr("<model>")));
}

TEST_F(ReportPageTest, LoadsNothing) {
  EXPECT_THAT(tables_of(page_), Not(HasSubstr("http://")));
  EXPECT_THAT(tables_of(page_), Not(HasSubstr("src=")));
}

TEST_F(ReportPageTest, SaysWhenItWasInterrupted) {
  json cut = document_;
  cut["complete"] = false;
  cut.erase("sweep");
  cut.erase("more_memory");
  EXPECT_THAT(report_page(cut), HasSubstr("This report was interrupted"));
}

ChartPage a_page() { return {"sweep", "a < b", "1.250x & more\n", {{"models", json::array()}, {"note", "</script>"}}}; }

TEST(ChartPage, EmbedsTheStampedDocument) {
  const json document = embedded_in(chart_page(a_page()));
  EXPECT_EQ(document["command"], "sweep");
  EXPECT_EQ(document["format"], "sluice-json");
  EXPECT_EQ(document["note"], "</script>");
}

TEST(ChartPage, SaysWhatWasPrintedWhatIsEmulatedAndWhatIsMissing) {
  ChartPage printed = a_page();
  EXPECT_THAT(chart_page(printed), HasSubstr("<h1>a &lt; b</h1>"));
  EXPECT_THAT(chart_page(printed), HasSubstr("1.250x &amp; more\n</pre>"));
  EXPECT_EQ(chart_page(printed).find("There are no charts") == std::string::npos, why_no_charts().empty());
  EXPECT_THAT(chart_page(printed), Not(HasSubstr("Emulated: ")));
  printed.document["run"] = {{"emulated", true}};
  EXPECT_THAT(chart_page(printed), HasSubstr("Emulated: times are those of the hardware imitated."));
}

}  // namespace
}  // namespace sluice::report
