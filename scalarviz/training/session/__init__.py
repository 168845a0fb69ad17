"""Training that can run backwards: the clock, branches, keyframes, replay and background play."""
