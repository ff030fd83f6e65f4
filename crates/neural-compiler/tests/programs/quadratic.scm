(+ (* a (square x)) (* b x) c)
