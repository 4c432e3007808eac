"""One transactional id at its coordinator: which identities its instances get, and how its transactions end."""
