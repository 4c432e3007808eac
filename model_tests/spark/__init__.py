"""The Spark session, and what its workers need."""
