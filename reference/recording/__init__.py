"""The recorder of steps and the columns of a trace."""
