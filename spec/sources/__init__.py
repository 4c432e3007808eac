"""The source of each guard, each error and each behaviour in each release: a named method, or a recording."""
