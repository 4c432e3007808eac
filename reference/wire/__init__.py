"""Kafka's wire protocol: frames, requests and answers in bytes, and which versions each release has."""
