;; Evaluates many programs in one Guile process.
;; usage: guile --no-auto-compile -s evaluate.scm PROGRAMS
;; PROGRAMS holds one datum per program. For each, one line: the bits of the result as 16 hexadecimal digits (every NaN
;; alike), or `complex`, `other` or `error KEY` when Scheme has no real number for it.

(use-modules (rnrs bytevectors) (ice-9 exceptions))

(define (bits x)
  (let ((bytes (make-bytevector 8)))
    (bytevector-ieee-double-set! bytes 0 (if (nan? x) +nan.0 x) (endianness big))
    (let* ((digits (number->string (bytevector-u64-ref bytes 0 (endianness big)) 16)))
      (string-append (make-string (- 16 (string-length digits)) #\0) digits))))

(define (describe value)
  (cond ((and (number? value) (real? value))
         (let ((x (exact->inexact value)))
           (if (nan? x) "nan" (bits x))))
        ((number? value) "complex")
        (else "other")))

(define (evaluate program)
  (catch #t
    (lambda () (describe (primitive-eval program)))
    (lambda (key . rest) (string-append "error " (symbol->string key)))))

(set-port-encoding! (current-output-port) "UTF-8")
(call-with-input-file (cadr (command-line))
  (lambda (port)
    (set-port-encoding! port "UTF-8")
    (let next ((program (read port)))
      (unless (eof-object? program)
        (display (evaluate program))
        (newline)
        (next (read port))))))
