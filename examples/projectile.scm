; Range of a throw with quadratic drag, integrated step by step until it lands.
(param drag 0.02 :min 0)
(let* ((angle (* pi (/ degrees 180)))
       (dt 0.001))
  (loop ((x 0) (y 0) (vx (* speed (cos angle))) (vy (* speed (sin angle))))
    (if (and (< y 0) (> x 0))
        x
        (let ((v (norm [vx vy])))
          (recur (+ x (* dt vx))
                 (+ y (* dt vy))
                 (- vx (* dt drag v vx))
                 (- vy (* dt (+ 9.81 (* drag v vy)))))))))
