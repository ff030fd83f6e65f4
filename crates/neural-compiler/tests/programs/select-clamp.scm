(input v :size 3)
(vsum (select (> v 0) (clamp v 0 1) (abs v)))
