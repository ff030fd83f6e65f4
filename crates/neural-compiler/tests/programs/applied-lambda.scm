((lambda (u v) (* u (+ u v))) (sin x) y)
