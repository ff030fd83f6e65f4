; right-hand side of the damped pendulum
(+ (* -9.81 (sin theta)) (* -0.3 omega))
