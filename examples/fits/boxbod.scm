; biochemical oxygen demand: NIST's BoxBOD from its first start, which is far away
(param b1 1)
(param b2 1)
(* b1 (- (expm1 (- (* b2 x)))))
