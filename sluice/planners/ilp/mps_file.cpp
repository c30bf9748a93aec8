#include <coin/CoinMpsIO.hpp>

#include "sluice/planners/ilp/coin_program.hpp"

namespace sluice::planners {

Status write_mps(const IntegerProgram& program, const std::string& path) {
  constexpr int kPlainText = 0;
  OsiClpSolverInterface solver;
  load(program, solver);
  std::vector<char> integer;
  for (const Column& column : program.columns) integer.push_back(column.integer ? 1 : 0);
  CoinMpsIO writer;
  writer.messageHandler()->setLogLevel(0);
  writer.setMpsData(*solver.getMatrixByCol(), solver.getInfinity(), solver.getColLower(), solver.getColUpper(),
                    solver.getObjCoefficients(), integer.data(), solver.getRowLower(), solver.getRowUpper(),
                    static_cast<const char* const*>(nullptr), nullptr);
  try {
    if (writer.writeMps(path.c_str(), kPlainText) == 0) return {};
  } catch (const CoinError&) {  // what it throws where it cannot open the file
  }
  return Error{ErrorCode::kIo, "cannot write the integer program to " + path};
}

}  // namespace sluice::planners
