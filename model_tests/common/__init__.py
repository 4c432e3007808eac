"""What several commands share: reports, derived tables, processes, Java."""
