"""`reap workloads scenario`: programs with one trouble by construction, and the remedies tried on them."""
