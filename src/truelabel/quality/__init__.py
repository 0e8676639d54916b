"""Which labels are wrong, and which to ask for next."""
