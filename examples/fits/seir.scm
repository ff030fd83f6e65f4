; reported cases of an epidemic as a state of their own
(param beta 0.4 :min 0) (param rho 0.5 :min 0 :max 1) (param I0 20 :min 0)
(define sigma 0.19230769) (define gamma 0.25) (define N 1e6)
; incidence rate rho*sigma*E as a state of its own: cases' = sigma*(rho*beta*S*I/N - cases); no initial cases
(state S 1e6) (state cases 0) (state I I0)
(derive S (- (/ (* beta S I) N)))
(derive cases (* sigma (- (* rho (/ (* beta S I) N)) cases)))
(derive I (- (/ cases rho) (* gamma I)))
