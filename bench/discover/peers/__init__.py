"""Other programs that find models, each as one function; those that are not installed are left out."""
