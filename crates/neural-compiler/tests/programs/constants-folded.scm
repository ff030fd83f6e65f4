; folded only where both number types agree
(+ (* 2 3) (* 0.1 3) x)
