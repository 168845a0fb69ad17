"""Words: numbers, names, captions, cards, explanations, and rules of tour, guessing and judging.

They are made of Facts and a State: plain numbers and texts. Pages have the same files as
JavaScript, which pages/translator.py makes: docs/TRANSLATOR.md says what Python they may be of.
"""
