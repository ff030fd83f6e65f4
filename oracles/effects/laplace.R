# The likelihood of theophylline with random effects by Laplace's method, written out: modes by Gauss and Newton, the curvature there, and
# the maximum by optim. lme4's nlmer, which has the same likelihood, stops 0.0013 short of it.
# Run in the root: Rscript oracles/effects/laplace.R
d <- read.csv("examples/likelihood/theophylline-effects.csv"); names(d)<-c("subject","dose","time","conc")
sub <- split(d, d$subject)
f <- function(s, lKe,lKa,lCl){ke<-exp(lKe);ka<-exp(lKa);cl<-exp(lCl); s$dose*ke*ka*(exp(-ke*s$time)-exp(-ka*s$time))/(cl*(ka-ke))}
one <- function(s,p){ sg<-exp(p[6]); w<-exp(p[4:5])
 r<-function(z) c((s$conc-f(s,p[1],p[2]+w[1]*z[1],p[3]+w[2]*z[2]))/sg, z)
 z<-c(0,0)
 J<-function(z) { h<-1e-5; sapply(1:2,function(j){a<-z;b<-z;a[j]<-a[j]+h;b[j]<-b[j]-h;(r(a)-r(b))/(2*h)}) }
 for(i in 1:60){ Jz<-J(z); g<-solve(t(Jz)%*%Jz, t(Jz)%*%r(z)); st<-1; c0<-sum(r(z)^2)
  while(sum(r(z-st*g)^2)>c0 && st>1e-6) st<-st/2; z<-z-st*g; if(max(abs(g))<1e-11) break }
 Jz<-J(z); sum(r(z)^2)+nrow(s)*log(2*pi*sg^2)+log(det(t(Jz)%*%Jz)) }
dev<-function(p) sum(sapply(sub,one,p=p))
nl<-c(-2.46532391,0.4741488093,-3.230567123,log(c(0.6604061275,0.1672503192,0.7074487796)))
options(digits=12)
print(-dev(nl)/2)
o<-optim(nl,dev,method="BFGS",control=list(reltol=1e-14,maxit=500,ndeps=rep(1e-4,6)))
print(-o$value/2); print(c(o$par[1:3],exp(o$par[4:6])))
