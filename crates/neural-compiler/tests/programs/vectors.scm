(input a :size 3)
(input b :size 3)
(let ((r (- a b))) (/ (dot r [1 2 3]) (+ 1 (norm (cross r [x 0 0])))))
