"""One idempotent producer over several partitions, which share its epoch."""
