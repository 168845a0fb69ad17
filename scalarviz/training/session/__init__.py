"""Training that can go back in time: clock, branches, keyframes, replay and background play."""
