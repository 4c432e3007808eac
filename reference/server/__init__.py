"""The reference as a server: Kafka's clients speak to it over TCP, and every step of its nodes is a row.

`world` has the nodes, `service` what they share, the modules of apis one function for each api, `listener` the sockets.
The caller gives the time: nothing here reads a clock.
"""
