(+ x y)
