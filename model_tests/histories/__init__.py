"""Histories that clients recorded themselves: Jepsen's EDN, the lines of Kafka's system tests, journals.

Arguments:
    key: the partition, by its number.
"""
