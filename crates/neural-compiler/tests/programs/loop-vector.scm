(loop ((i 0) (v [x 1])) (if (= i 4) (dot v v) (recur (+ i 1) (matvec [[0 1] [1 1]] v))))
