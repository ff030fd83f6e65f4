#!/usr/bin/env bash
# The tour behind `make demo`: one equation from text to value, exact derivatives, proof, picture and fit.
# usage: demo.sh NEURALC OUT
set -euo pipefail
neuralc=$1 out=$2
cd "$(dirname "$0")/.."
mkdir -p "$out"
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
show() { printf '$ neuralc %s\n' "$*"; "$neuralc" "$@"; }

say "An equation as text"
cat examples/pendulum.scm
say "Its value, its exact gradient and second derivatives, at an angle of one radian"
show run examples/pendulum.scm theta=1 --grad --hessian
say "A whole simulation is a program too, and so is its derivative: how the range of a throw depends on speed, angle and drag"
show run examples/projectile.scm speed=30 degrees=40 --grad
say "Where is it safe? For angles up to three radians nothing can go wrong:"
show check examples/pendulum.scm --range theta=0:3 --range L=0.1:10 --range g=1:20 && echo "(nothing to report: proven)"
say "For lengths that may be negative, the compiler says what can:"
show check examples/pendulum.scm --range theta=0:3 --range L=-1:10 --range g=1:20 || true
say "What the compiler made of it"
show show examples/pendulum.scm --stage anf
"$neuralc" show examples/pendulum.scm --stage graph --format svg > "$out/pendulum.svg"
echo "The graph as a picture: $out/pendulum.svg"
say "A model and a record of data: hares and lynx, 1900 to 1920. The constants, and how sure they are"
cat examples/lynx-hare.scm
show fit examples/lynx-hare.scm --data examples/lynx-hare.csv --time year --plot "$out/lynx-hare.svg" --save "$out/lynx-hare.scm"
