"""One partition and its replicas: a leader appends, followers copy, the controller elects."""
