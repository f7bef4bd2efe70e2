"""Alerts: what is wrong is noticed, told once to whoever wants to know, and again when over."""
