; Theophylline in the blood of twelve people after one dose by mouth: one compartment, first-order absorption, as R's SSfol.
; How fast each of them absorbs and clears it differs at random; lKe, lKa and lCl are logarithms, as in nlme's example.
(param lKe -2.5)
(param lKa 0.5)
(param lCl -3)
(param wKa 0.5 :min 0)
(param wCl 0.3 :min 0)
(param s 1 :min 0)
(param eKa 0 :per subject :effect (normal 0 wKa))
(param eCl 0 :per subject :effect (normal 0 wCl))
(define ke (exp lKe))
(define ka (exp (+ lKa eKa)))
(define cl (exp (+ lCl eCl)))
(observe conc
  (/ (* dose ke ka (- (exp (* (- ke) time)) (exp (* (- ka) time)))) (* cl (- ka ke)))
  :noise (normal s))
