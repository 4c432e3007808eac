"""The idempotent producer as a system."""
