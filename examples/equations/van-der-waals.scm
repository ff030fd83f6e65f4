; the volume of a mole of a real gas, from temperature and pressure; an ideal gas is where the search starts
(param a 0.3 :min 0)                  ; Pa m^6/mol^2
(param b 4e-5 :min 0)                 ; m^3/mol
(define RT (* 8.314462618 T))
(root (V (/ RT p))
  (- (* (+ p (/ a (* V V))) (- V b)) RT))
