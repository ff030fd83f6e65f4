(loop ((i 0) (acc 1)) (if (= i n) acc (recur (+ i 1) (* acc x))))
