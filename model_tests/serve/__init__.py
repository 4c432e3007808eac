"""The reference as a server that is judged while it runs: `eos serve`, and the same for tests of other people."""
