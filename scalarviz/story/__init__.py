"""Texts: numbers, names, captions, cards, explanations; rules of tour and questions.

They are computed from Facts and a State: plain numbers and strings. Pages use the same files,
translated to JavaScript by pages/translator.py; docs/TRANSLATOR.md lists the supported Python.
"""
