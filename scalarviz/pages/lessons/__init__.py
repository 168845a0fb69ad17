"""Lessons: their questions, pages, and the answers of learners."""
