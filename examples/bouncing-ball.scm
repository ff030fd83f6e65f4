; A ball that is let fall and bounces: each bounce leaves a share e of its speed.
;   neuralc fit examples/bouncing-ball.scm --data examples/bouncing-ball.csv --plot ball.svg
(time t :start 0)
(param g 9 :min 0)
(param e 0.8 :min 0 :max 1)
(param h0 1.4 :min 0)
(state h h0)
(state v 0)
(derive h v)
(derive v (- g))
(event (when (< h 0)) (set v (* (- e) v)))
