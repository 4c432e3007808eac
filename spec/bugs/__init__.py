"""The known bugs of Kafka's exactly-once, each as a system with its defect and the verdict that is expected."""
