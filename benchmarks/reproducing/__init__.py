"""What benchmarks/reproduce.py is made of: how results are made (catalog), what is kept of them (records, pruning), whether
that is older than the code it measures (code_state), making them (making), and the papers' items beside them (papers)."""
