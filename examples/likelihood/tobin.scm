; What households spend on durable goods, by age and liquidity (Tobin 1958): who bought nothing would have spent some amount below 0, had
; that been possible. Such cells are written <0 in the table and count by their probability.
(param a 1)
(param b 0.1)
(param c 0.1)
(param s 1 :min 0)
(observe durable (+ a (* b age) (* c quant)) :noise (normal s))
