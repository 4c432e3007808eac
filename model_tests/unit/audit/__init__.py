"""Tests of the audit of real log directories."""
