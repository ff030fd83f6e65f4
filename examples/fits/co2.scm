; uptake of carbon dioxide by a plant over its concentration: rises to a level, from an offset
(param Asym 30)
(param lrc -5)
(param c0 50)
(* Asym (- (expm1 (- (* (exp lrc) (- conc c0))))))
