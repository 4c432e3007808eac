"""True traces made false, and what a check sees of them."""
