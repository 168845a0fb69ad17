"""Scenarios that run code of a learner beside ours, number by number."""
