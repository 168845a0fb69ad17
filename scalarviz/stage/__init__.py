"""`Show` for scenes written for version 0.1.0; new scenes use `sv.Show`."""
