"""Forecasts held against what then happened in a replay, beside two other ways to forecast a start."""
