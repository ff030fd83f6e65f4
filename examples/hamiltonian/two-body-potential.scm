; the kinetic energy is known, the potential energy is a net of the positions: trained on measured rates of change
(net V (x y) 24 24 1)
[u v (- (d (V x y) x)) (- (d (V x y) y))]
