# Nonlinear models with random effects by R's nlme (Lindstrom and Bates 1990) and lme4's nlmer (Laplace), on data that come with R. Prints
# fixed effects with standard errors, standard deviations of effects and errors, and log-likelihoods; tests/effects.rs of the fit crate has
# these figures. Run: Rscript oracles/effects/effects.R; R 4.2.2, nlme 3.1-162, lme4 1.1-31.
#
# Both are asked for more digits than they give by default. nlme's standard errors have the factor sqrt(n/(n - p)), which is taken out.
suppressPackageStartupMessages({library(nlme); library(lme4)})
tight <- nlmeControl(tolerance = 1e-9, pnlsTol = 1e-9, maxIter = 2000, pnlsMaxIter = 100, msMaxIter = 500, msTol = 1e-12, opt = "nlm",
                     returnObject = TRUE)

show <- function(name, fixed, errors, deviations, loglik) {
  cat(name, "\n")
  for (k in seq_along(fixed)) cat(sprintf("  %-8s %.10g  %.6g\n", names(fixed)[k], fixed[k], errors[k]))
  for (k in seq_along(deviations)) cat(sprintf("  sd %-8s %.10g\n", names(deviations)[k], deviations[k]))
  cat(sprintf("  loglik %.9f\n", loglik))
}

of_nlme <- function(name, fit) {
  n <- nrow(getData(fit)); p <- length(fixef(fit))
  sds <- as.numeric(VarCorr(fit)[, "StdDev"]); names(sds) <- rownames(VarCorr(fit))
  show(paste(name, "nlme"), fixef(fit), sqrt(diag(vcov(fit)) * (n - p) / n), sds, as.numeric(logLik(fit)))
}

of_nlmer <- function(name, fit) {
  v <- as.data.frame(VarCorr(fit)); sds <- v$sdcor; names(sds) <- ifelse(is.na(v$var1), "residual", v$var1)
  show(paste(name, "nlmer"), fixef(fit), sqrt(diag(as.matrix(vcov(fit)))), sds, as.numeric(logLik(fit)))
}

closer <- nlmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-10, maxfun = 1e6), tolPwrss = 1e-12)

# Theophylline, 12 subjects: the rate of elimination is shared.
theoph <- as.data.frame(Theoph); theoph$Subject <- factor(as.character(theoph$Subject))
of_nlme("Theoph", nlme(conc ~ SSfol(Dose, Time, lKe, lKa, lCl), groupedData(conc ~ Time | Subject, theoph), fixed = lKe + lKa + lCl ~ 1,
  random = pdDiag(lKa + lCl ~ 1), start = c(-2.45, 0.46, -3.22), control = tight, method = "ML"))
try(of_nlmer("Theoph", nlmer(conc ~ SSfol(Dose, Time, lKe, lKa, lCl) ~ (0 + lKa | Subject) + (0 + lCl | Subject), theoph,
  start = c(lKe = -2.45, lKa = 0.46, lCl = -3.22), control = closer)))

# Indomethacin, 6 subjects, two exponentials; three of four parameters vary (Pinheiro and Bates 2000, page 283, without the fourth).
indo <- as.data.frame(Indometh); indo$Subject <- factor(as.character(indo$Subject))
of_nlme("Indometh", nlme(conc ~ SSbiexp(time, A1, lrc1, A2, lrc2), groupedData(conc ~ time | Subject, indo),
  fixed = A1 + lrc1 + A2 + lrc2 ~ 1, random = pdDiag(A1 + lrc1 + A2 ~ 1), start = c(2.8, 0.85, 0.59, -1.07), control = tight,
  method = "ML"))
try(of_nlmer("Indometh", nlmer(conc ~ SSbiexp(time, A1, lrc1, A2, lrc2) ~ (0 + A1 | Subject) + (0 + lrc1 | Subject) +
  (0 + A2 | Subject), indo,  start = c(A1 = 2.8, lrc1 = 0.85, A2 = 0.59, lrc2 = -1.07), control = closer)))

# Orange trees: the asymptote varies.
orange <- as.data.frame(Orange); orange$Tree <- factor(as.character(orange$Tree))
of_nlme("Orange", nlme(circumference ~ SSlogis(age, A, xmid, scal), groupedData(circumference ~ age | Tree, orange),
  fixed = A + xmid + scal ~ 1,  random = pdDiag(A ~ 1), start = c(190, 720, 344), control = tight, method = "ML"))
try(of_nlmer("Orange", nlmer(circumference ~ SSlogis(age, A, xmid, scal) ~ A | Tree, orange, start = c(A = 190, xmid = 720, scal = 344),
  control = closer)))

# CO2 uptake of plants: offset and asymptote (Pinheiro and Bates 2000, page 373, without covariates).
co2 <- as.data.frame(CO2); co2$Plant <- factor(as.character(co2$Plant))
of_nlme("CO2", nlme(uptake ~ SSasympOff(conc, Asym, lrc, c0), groupedData(uptake ~ conc | Plant, co2), fixed = Asym + lrc + c0 ~ 1,
  random = pdDiag(Asym + lrc ~ 1), start = c(32.5, -4.6, 43.6), control = tight, method = "ML"))
try(of_nlmer("CO2", nlmer(uptake ~ SSasympOff(conc, Asym, lrc, c0) ~ (0 + Asym | Plant) + (0 + lrc | Plant), co2,
  start = c(Asym = 32.5, lrc = -4.6, c0 = 43.6), control = closer)))

# Loblolly pines: the asymptote varies.
lob <- as.data.frame(Loblolly); lob$Seed <- factor(as.character(lob$Seed))
of_nlme("Loblolly", nlme(height ~ SSasymp(age, Asym, R0, lrc), groupedData(height ~ age | Seed, lob), fixed = Asym + R0 + lrc ~ 1,
  random = pdDiag(Asym ~ 1), start = c(101, -8.6, -3.2), control = tight, method = "ML"))
try(of_nlmer("Loblolly", nlmer(height ~ SSasymp(age, Asym, R0, lrc) ~ Asym | Seed, lob, start = c(Asym = 101, R0 = -8.6, lrc = -3.2),
  control = closer)))
