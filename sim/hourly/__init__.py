"""The hourly model of the quota paper: whole hours, first fit in submit order, idle cores sampled each hour."""
