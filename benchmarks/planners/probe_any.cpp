#include <fmt/format.h>
#include <chrono>
#include "benchmarks/planners/kept_problem.hpp"
#include "benchmarks/planners/kept_machines.hpp"
#include "sluice/planners/bound/certified_bound.hpp"
#include "sluice/planners/bound/any_order_prices.hpp"
#include "sluice/plan/verify/any_order_certificate.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/keep_what_fits.hpp"
#include "sluice/planners/rescheduled_request.hpp"
using namespace sluice;
int main(int argc, char** argv) {
  const double pct = std::stod(argv[1]); const int mach = std::stoi(argv[2]);
  for (int i = 3; i < argc; ++i) {
    auto problem = read_problem(argv[i]).value();
    const Bytes whole = fast_only_bytes(problem.graph);
    auto machines = kept_machines(whole);
    auto& machine = machines[mach-1];
    Profile profile = problem.profile;
    for (auto& s : profile.op_seconds) s /= machine.compute_speed;
    const Bytes fast = align_down(Bytes(whole * pct / 100), kTensorAlignment);
    CostModel costs(problem.graph, profile, machine.machine);
    std::vector<Bytes> budgets; for (auto& t : machine.machine.tiers) budgets.push_back(t.capacity);
    budgets[0] = fast;
    auto t0 = std::chrono::steady_clock::now();
    auto own = certified_bound(problem.graph, costs, machine.machine, budgets, false, 20);
    auto t1 = std::chrono::steady_clock::now();
    std::vector<Seconds> secs; Seconds all = 0; for (OpIndex op = 0; op < problem.graph.op_count(); ++op) { secs.push_back(costs.op_seconds(op)); all += secs.back(); }
    const BoundedStep step{problem.graph, secs, two_way_link(costs, machine.machine), fast};
    auto order = find_any_order(problem.graph, secs);
    auto prices = find_any_order_prices(step, order, 20);
    auto t2 = std::chrono::steady_clock::now();
    auto any = certified_any_order_seconds(step, order, prices);
    auto t3 = std::chrono::steady_clock::now();
    Seconds chain = 0, fl = 0; for (auto& c : order.chain) chain += c.seconds; for (auto& f : order.floating) fl += f.seconds;
    if (getenv("LIVES")) { auto l = order.lives; std::ranges::sort(l, std::greater{}, &Life::bytes); for (size_t k = 0; k < 400; k+= k < 12 ? 1 : 20) { auto& x = l[k]; fmt::print("{} {} MiB persistent {} several {} from {} uses", problem.graph.tensor(x.tensor).name, x.bytes >> 20, x.persistent, x.several, x.made_from); for (auto& u : x.uses) fmt::print(" {}{}{}:{:.4f}", u.epoch, u.reads ? "r":"", u.writes?"w":"", u.again_seconds); if (x.needed_later) fmt::print(" later {}{}:{:.4f}", x.needed_later->epoch, x.needed_later->writes ? "w" : "", x.needed_later->again_seconds); fmt::print("\n"); } }
    // baseline
    PlanRequest asked{problem.graph, profile, machine.machine, budgets};
    asked.budgets[0] = 8*whole;
    asked.schedule = keep_what_fits(problem.graph, profile, 8*whole);
    const Seconds base = make_plan("fast-only", asked).value().predicted_step_seconds;
    fmt::print("{:15} ops {} chain {} lives {} compute {:.3f} base {:.3f} chain {:.3f} float {:.3f} base {:.5f} s own {:.4f} ({:.1f}s) any {:.4f} (lp {:.1f}s cert {:.2f}s)\n", problem.model, problem.graph.op_count(), order.chain.size(), order.lives.size(), all/base, 1.0, chain/base, fl/base, base,
      own ? own->seconds/base : 0, std::chrono::duration<double>(t1-t0).count(), any.ok() ? *any/base : -1, std::chrono::duration<double>(t2-t1).count(), std::chrono::duration<double>(t3-t2).count());
  }
}
