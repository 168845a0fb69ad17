"""Words: numbers, names, captions, cards and explanations, and the rules of tour and guessing.

They are made of Facts and a State: plain numbers and texts. Pages have the same files as
JavaScript, which pages/translator.py makes: docs/TRANSLATOR.md says what Python they may be of.
"""
