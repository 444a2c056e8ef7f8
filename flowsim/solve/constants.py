"""The numbers by which engines decide, for all of them: compiled code and JAX take them from here."""

#: The first trial step moves the fastest unit, a neuron or a row, by this part of its size.
FIRST_MOTION = 1e-3
#: A step shorter than this many spacings of floating-point time cannot advance.
SMALLEST_STEP = 16.0
#: A step that takes more evaluations counts as several where attempts are limited.
LONG_STEP = 32
#: An output weight's error counts relative to the weight, but to no less than this part of its neuron's norm.
OUTPUT_FLOOR = 1e-3

#: A flow may be at rest no earlier than when the fastest unit would at first have moved by so many times its size.
A_WHILE = 1000.0
#: It rests where, while the time grows e-fold, the loss falls by less than this part of itself and no unit moves by more
#: than this part of its size.
SETTLED_LOSS, SETTLED_MOTION = 1e-6, 0.1
#: A neuron dies where it shrinks with |v| >= |w|, so that neither passes through zero. Shrinking is then no motion, turning
#: counts by so much more: where it is turned away from, that grows like e^s while the neuron shrinks by e^-s.
TURNS_AWAY = 1e9
#: |v| and |w| are the same up to this part.
SAME_SIZE = 1e-9

#: Chebyshev methods: damping, and what it leaves of the stability interval, INTERVAL (stages^2 - 1).
DAMPING, INTERVAL = 2.0 / 13.0, 0.65
#: More stages than this would add up rounding; a step that needs them is made shorter.
MOST_STAGES = 2000
#: Power iterations stop when the spectral radius changes by less than this part, at the latest after so many.
SETTLED_RADIUS, ITERATIONS = 0.05, 20
#: A power iteration finds the radius from below.
SAFE = 1.15
#: Size of a power iteration's perturbation beside the state's, and how far it may change the logarithm of a weight.
PERTURBATION, LINEAR = 1e-8, 1e-3
#: The same beside products in float32.
MIXED_PERTURBATION = 3e-4
#: Stability holds a pair back where its step is this part of the longest that it is stable for. One step is enough to tell:
#: two in a row are rare where the controller lets steps swing about that length.
HELD_BACK = 0.5

#: On the loss clock the log of the loss errs in a step by at most so many tolerances of itself.
LOSS_ERROR = 10.0
#: The loss clock leaves out of an integral what is so many times e smaller than the rest,
NEGLIGIBLE = 40.0
#: and within a step describes the log of dt/ds by so many cubics.
PIECES = 4
#: Bisections of a part of a step: to the last bit.
BISECTIONS = 60
