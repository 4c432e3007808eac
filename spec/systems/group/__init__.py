"""A group that reads a partition: members come and go, and what they have processed counts when its offset does."""
