"""Words: numbers, names, captions, cards and explanations, and the rules of tour and guessing."""
