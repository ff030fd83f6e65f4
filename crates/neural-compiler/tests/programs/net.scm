(net f (a b) 3 1)
(* 2 (f x y))
