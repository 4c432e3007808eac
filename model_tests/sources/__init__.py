"""The table of sources held against Kafka's sources: `python -m model_tests.sources APACHE [LATER]`."""
