; a population that grows and spreads along 20 km (Fisher 1937), counted at ten places; nothing crosses the ends
(param D 0.1 :min 0)
(param r 0.5 :min 0)
(define h (/ 20 200))
(define x (linspace 0 20 201))
(state u (exp (- (square x))) :size 201)
(derive u (+ (* D (second-difference u (ref u 1) (ref u 199) h)) (* r u (- 1 u))))
(define (at place) (interpolate u 0 20 place))
(observe seen [(at 1.25) (at 2.5) (at 3.75) (at 5) (at 6.25) (at 7.5) (at 8.75) (at 10) (at 11.25) (at 12.5)])
