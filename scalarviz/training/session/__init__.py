"""Training that also runs backwards: clock, branches, keyframes, replay and background play."""
