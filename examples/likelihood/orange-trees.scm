; How thick five orange trees grow: each has its own limit, and all share when they are half as thick and how fast they get there.
(param A 150 :per tree)
(param xmid 700)
(param scal 300 :min 1)
(/ A (+ 1 (exp (/ (- xmid age) scal))))
