"""How the numbers of a training lie in the memory of a GPU: names for places.

A launch costs time for every array that it is given, so everything is in four of them:

    whole   int64      the plan, then the table of operations, a row of COLUMNS each
    exact   float64    how to step, the settings of optimizer and schedule, errors and losses
    reals   working    the bank, the settings of row formulas, the gradients of the chunks, and the
                       workspaces of values and gradients
    data    working    the tables of a data set: all inputs, then all targets

The plan says where in `reals` each part begins. A workspace has a row for each number of a sample:
number r of sample n is at r * STRIDE + n. Besides the buffers of the program, that of values has
rows for the targets, for what row formulas keep, and one for the errors.
"""

from __future__ import annotations

# The plan: sizes and places, the same for the whole life of a training ...
(
    ROWS, OPERATIONS, CHUNKS, STRIDE, IN_SIZE, OUT, OUT_SIZE, GOALS, ERRORS_ROW, SPACE_ROWS,
    FLOW_ROWS, VALUE, FROZEN, GRAD, SLOTS, WEIGHTS, PARTIALS, PARTIAL_SIZE, SPACE, FLOW,
    FIRST_NEEDED, GROUPS, HALF, DYNAMIC, PATIENCE, LOSS, MEAN_OF, DRAW, SEED_LOW, SEED_HIGH,
    SAMPLES, SIZE, WIDTH,
) = range(33)  # fmt: skip

# ... what an order to take steps says: the tables, the optimizer, the first step and how many steps
# the network has taken; and what comes of it.
(
    TABLE_TARGETS, OPTIMIZER, OPTIMIZER_SETTINGS, SCHEDULE, REFUSE, FIRST_STEP, TAKEN, TAKEN_AFTER,
    FOUND, BAD, DONE,
) = range(33, 44)  # fmt: skip
PLAN_FIELDS = 44

# The columns of the table of operations; places of buffers are rows of a workspace.
(
    KIND, FORMULA, SOURCE, TARGET, INPUTS, OUTPUTS, WEIGHT_ROW, BIAS_ROW, HAS_BIASES, COUNT,
    PARTIAL, MEMO, SETTINGS,
) = range(13)  # fmt: skip
COLUMNS = 13
AFFINE, ACTIVATION, ROW, SCALE = range(4)  # in the order of `program.KINDS`

# The places in `exact`; the errors of the chunks begin at ERRORS, and after them come the sums of
# squares of the groups of rows, then the losses.
RATE, CLIP_NORM, CLIP_VALUE, L1, L2, FACTOR, LOSS_SCALE, GOOD_STEPS, SKIPPED = range(9)
OPTIMIZER_NUMBERS, SCHEDULE_NUMBERS, DRAW_NUMBERS, ERRORS = 9, 17, 21, 29

TILE, TILE_SIZE = 16, 256  # a matrix product is cut into tiles of so many rows and columns
GROUP = 256  # rows whose squares are added up by one thread
MOST_ARGUMENTS, TOLD = 16, 17  # of an optimizer's update; and the norm's scale before them
NOBODY = 2**62  # the row of a bad gradient where there is none
