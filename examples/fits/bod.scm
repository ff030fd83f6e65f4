; biochemical oxygen demand over time in days
(param A 20 :min 0)
(param k 0.5 :min 0)
(* A (- (expm1 (- (* k Time)))))
