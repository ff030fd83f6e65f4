(define k 3)
(define (f a) (define b (* a k)) (+ b c))
(- (f x) (f y))
