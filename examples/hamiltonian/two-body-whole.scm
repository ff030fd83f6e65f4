; the energy is a net of positions and momenta, the law is Hamilton's: trained on measured rates of change
(net H (x y u v) 24 24 1)
[(d (H x y u v) u) (d (H x y u v) v) (- (d (H x y u v) x)) (- (d (H x y u v) y))]
