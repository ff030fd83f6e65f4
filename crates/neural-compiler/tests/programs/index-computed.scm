(input v :size 2)
(+ (ref v i) (vsum (slice (concat v x) 1 3)))
