; A pendulum of which gravity is known and everything that damps it is not: one constant, one learned function.
;   neuralc fit examples/damped-pendulum.scm --data examples/damped-pendulum.csv --method rk4 --plot pendulum.svg --save fitted.scm
(param g_L 5.0 :min 0)                  ; gravity over length, 1/s^2; the record was made with 9.81
(net damping (theta omega) 16 1)        ; learned; the record was made with -0.3 omega
(state theta 1)                         ; angle, rad
(state omega 0)                         ; its rate, rad/s
(derive theta omega)
(derive omega (+ (- (* g_L (sin theta))) (damping theta omega)))
