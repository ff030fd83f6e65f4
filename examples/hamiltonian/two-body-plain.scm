; a plain neural law for the same rates
(net f (x y u v) 24 24 4)
(f x y u v)
