"""Producer ids: brokers claim blocks of a shared record and hand them out."""
