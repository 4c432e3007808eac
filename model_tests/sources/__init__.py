"""The table of sources compared with Kafka's sources: `python -m model_tests.sources APACHE [LATER]`."""
