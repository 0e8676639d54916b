"""The papers' tables as data, and what runs them."""
