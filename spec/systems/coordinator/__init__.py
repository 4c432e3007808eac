"""One transactional id at its coordinator: the identities of its instances, and the end of its transactions."""
