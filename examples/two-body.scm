; Newton's force between two masses, as a vector; the paper's fifth experiment.
(param G 6.674)
(input r :size 3)
(scale (/ (* (- G) m1 m2) (pow (norm r) 3)) r)
