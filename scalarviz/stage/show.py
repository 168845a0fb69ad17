"""`Show` for scenes written for version 0.1.0; new scenes use `sv.Show`."""

from scalarviz.presenter.show import Show, whole_number, whole_numbers

__all__ = ["Show", "whole_number", "whole_numbers"]
