"""Where scenes of version 0.1.0 find `Show`; it is `sv.Show` now."""
