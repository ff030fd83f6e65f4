; An epidemic in a city of 50,000 (Kermack and McKendrick 1927), of which new cases are reported: a share rho of the infections of a day,
; counted with more scatter than chance alone makes. What is observed is no state but how fast one changes.
(time day :start 0)
(param beta 0.4 :min 0)              ; infections per day of one infectious person among susceptible ones
(param I0 10 :min 0)                 ; infectious on day 0
(param rho 0.5 :min 0 :max 1)        ; the share that is reported
(param k 5 :min 0)                   ; the size of the negative binomial: the smaller, the wider
(define N 50000)
(define gamma 0.2)                   ; five days of being infectious
(state S (- N I0))
(state I I0)
(define infections (/ (* beta S I) N))
(derive S (- infections))
(derive I (- infections (* gamma I)))
(observe cases (* rho infections) :noise (negative-binomial k))
