"""Whole steps of dense layers by one kernel in CUDA C++, whose formulas are those of the tables."""
