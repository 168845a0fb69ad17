"""Lessons: their questions, their pages, and what learners answer."""
