"""Inference: requests of five protocols carried out as turns against the route's candidates."""
