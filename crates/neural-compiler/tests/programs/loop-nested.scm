(loop ((i 0) (s 0))
  (if (= i 3)
      s
      (recur (+ i 1) (+ s (loop ((j 0) (p 1)) (if (= j i) p (recur (+ j 1) (* p x))))))))
