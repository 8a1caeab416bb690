"""Kernels on rasters: travel times at cell centres, contours, statistics by grid cell, distances to roads."""
