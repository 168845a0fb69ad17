"""What all engines share: their interface, runs, snapshots, and the reference operations."""
