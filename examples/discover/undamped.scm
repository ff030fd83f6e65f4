; A pendulum that nothing damps: a wrong model to begin with.
;   neuralc refine examples/discover/undamped.scm --data examples/damped-pendulum.csv --journal examples/discover/damped-pendulum
(param g_L 9 :min 0)
(param theta0 1)
(param omega0 0)
(state theta theta0)
(state omega omega0)
(derive theta omega)
(derive omega (- (* g_L (sin theta))))
