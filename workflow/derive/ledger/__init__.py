"""The division ledger: what speculation gains, from a handful of figures, before any kernel is written.

- entry: the figures of one case and what the division says about them
- acceptance: how far an acceptance can be trusted, by steps and by cluster
- rulers: times that were taken with different clocks
- table: cases of a CSV
- measured: cases of a measured campaign
"""
