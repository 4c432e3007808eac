"""The transactions of one transactional id, whole: clients, network, coordinators, partitions."""
