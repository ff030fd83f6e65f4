"""Classic fits beside SciPy: the models and tables of examples/fits, the same laws written by hand in NumPy, and the page docs/fits.md."""
