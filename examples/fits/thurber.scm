; electron mobility over the logarithm of density: NIST's Thurber from its first start
(param b1 1000)
(param b2 1000)
(param b3 400)
(param b4 40)
(param b5 0.7)
(param b6 0.3)
(param b7 0.03)
(/ (+ b1 (* b2 x) (* b3 x x) (* b4 x x x)) (+ 1 (* b5 x) (* b6 x x) (* b7 x x x)))
