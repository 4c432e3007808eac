"""Where each guard, each error and each behaviour of each release is known from: a named method, or a recording."""
