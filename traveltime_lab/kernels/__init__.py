"""Array kernels."""
