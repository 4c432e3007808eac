"""What clients were told, as their own histories tell it: Jepsen's EDN, the lines of Kafka's system tests, journals."""
