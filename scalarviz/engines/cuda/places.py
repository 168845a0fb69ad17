"""How the numbers of a training lie in the memory of a GPU: names for places.

A launch costs time for every array that it is given, so everything is in four of them:

    plan     int64      sizes and places, then the table of operations, a row of COLUMNS each
    scalars  float64    how to step, the settings of optimizer and schedule, the bank's state,
                        errors and losses, statistics of whole batches
    arena    working    the bank, the settings of operations, the gradients of the chunks, and the
                        workspaces of values and gradients
    data     working    the tables of a data set: all inputs, then all targets

The plan says where in `arena` each part begins. A workspace has a row for each number of a sample:
number r of sample n is at r * STRIDE + n. Besides the buffers of the program, that of values has
rows for the targets, for what operations keep for their way back, and one for the errors. The
gradient by a buffer lies in the same rows as the buffer.
"""

from __future__ import annotations

# The plan: sizes and places, the same for the whole life of a training ...
(
    ROWS, OPERATIONS, CHUNKS, STRIDE, IN_SIZE, OUT, OUT_SIZE, GOALS, ERRORS_ROW, SPACE_ROWS,
    FLOW_ROWS, VALUE, FROZEN, GRAD, SLOTS, WEIGHTS, PARTIALS, PARTIAL_SIZE, SPACE, FLOW,
    FIRST_NEEDED, GROUPS, HALF, DYNAMIC, PATIENCE, LOSS, MEAN_OF, DRAW, SEED_LOW, SEED_HIGH,
    SAMPLES, SIZE, WIDTH, ERRORS, STATE_BEFORE,
) = range(35)  # fmt: skip

# ... what an order to take steps says: the tables, the optimizer, whether the network learns, the
# first step and how many steps the network has taken; and what comes of it. OVERFLOWED is the first
# step, counted from that one, after which a weight or a slot was not finite.
(
    TABLE_TARGETS, OPTIMIZER, OPTIMIZER_SETTINGS, SCHEDULE, REFUSE, LEARNING, FIRST_STEP,
    STEPS_TAKEN, STEPS_TAKEN_AFTER, FIRST_BAD, BAD, DONE, OVERFLOWED, SLOT_COUNT,
) = range(35, 49)  # fmt: skip
PLAN_FIELDS = 49

# The columns of the table of operations; places of buffers are rows of a workspace. EACH is how
# many numbers share a bias, OTHER the place of the other buffer, STATE where its numbers are in the
# bank's state, STATISTICS where in `scalars` it notes what it finds out about the whole batch; the
# running ones stand still while the rows from HELD_FROM to before HELD_TO are frozen.
(
    KIND, FORMULA, SOURCE, TARGET, INPUTS, OUTPUTS, WEIGHT_ROW, BIAS_ROW, HAS_BIASES, COUNT,
    PARTIAL, MEMO, SETTINGS, EACH, OTHER, STATE, STATISTICS, HELD_FROM, HELD_TO,
) = range(19)  # fmt: skip
COLUMNS = 19
MOST_SETTINGS = 7  # of an operation

# The places in `scalars`. The bank's state begins with the loss scale and what goes with it, and is
# as long as it is; then, from whole[ERRORS] on, come the errors of the chunks, the sums of squares
# of the groups of rows, the losses, the statistics, and the state as it was before a step.
RATE, CLIP_NORM, CLIP_VALUE, L1, L2, FACTOR = range(6)
OPTIMIZER_NUMBERS, SCHEDULE_NUMBERS, DRAW_NUMBERS, STATE_NUMBERS = 6, 14, 18, 26
LOSS_SCALE, GOOD_STEPS, SKIPPED = range(STATE_NUMBERS, STATE_NUMBERS + 3)

# Of each feature: its mean, by what it is multiplied, and how its gradient is moved and stretched.
MEAN, DEVIATION, SHIFT, STRETCH = range(4)
MOMENTS = 4
SHARES = 128  # a sum over a whole batch is taken in so many parts

TILE, TILE_SIZE = 16, 256  # a matrix product is cut into tiles of so many rows and columns
GROUP = 256  # rows whose squares are added up by one thread
MOST_ARGUMENTS, STEP_ARGS = 16, 17  # of an optimizer's update; and the norm's scale before them
NOBODY = 2**62  # the row of a bad gradient, or the step of an overflow, where there is none
