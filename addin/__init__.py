"""The Excel functions in each host, as thin layers over `capacity.call`."""
