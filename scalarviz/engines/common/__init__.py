"""What all engines share: base classes, runs, snapshots, and the reference operations."""
