"""Readers of a broker's log directories: batches, coordinators' logs, the controller's log, dumps of them."""
