"""Privacy loss distributions of any composition: lattices, convolution, and proven bounds."""
