"""What is measured. One file per suite with `run(job)`, which gives a section of bench.json; `run.py` knows them by name."""
