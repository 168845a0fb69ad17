"""Where scenes of version 0.1.0 find `Show`; it is `sv.Show` now."""

from scalarviz.presenter.show import Show, whole_number, whole_numbers

__all__ = ["Show", "whole_number", "whole_numbers"]
