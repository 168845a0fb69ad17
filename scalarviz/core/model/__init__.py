"""The parts that a network lowers to: bank, weights, operations, Program, Optimizer, Precision."""
