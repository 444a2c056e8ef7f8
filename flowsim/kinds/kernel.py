"""What compiled code knows of activations and losses: their codes, and constants that the formulas share."""

#: Codes of activations: by the slope below 0 (degree 1), of powers, and of two that are no powers.
LEAKY, POWER, TANH, SYMMETRIC = range(4)
#: Codes of losses.
SQUARE, LOGISTIC, EXPONENTIAL, CROSS_ENTROPY = range(4)

#: Below exp(this) a neuron of tanh is linear to the last bit.
LINEAR_BELOW = -20.0
