// What is asked about a cube: "?" over it and the arrow that is guessed, then beside it the true one.

const GUESS = {
  half: [11, 22], // half the side of "?": at least and at most
  apart: 10, // pixels from it to an arrow
  long: 44, // an arrow
  head: 13,
};

/** Draw the mark of a question over its cube. */
export function drawGuess(view, place) {
  const { paper, palette, scale, frame } = view;
  const { guess } = frame;
  if (!guess || !place || !Number.isFinite(place.x + place.y)) return;
  const { x, y } = place;
  const [least, most] = GUESS.half.map((each) => each * scale);
  const half = Math.min(most, Math.max(least, place.half));
  const look = { radius: 0.3 * half, outline: palette.accent, line: 2 * scale };
  const letters = { size: 1.4 * half, bold: true, color: palette.ink, anchor: "center" };
  if (guess.isAsking) {
    paper.box(x - half, y - half, 2 * half, 2 * half, palette.tray, look);
    paper.text(x, y + 0.5 * half, "?", letters);
  }
  const aside = half + GUESS.apart * scale;
  drawGuessed(view, [x - aside, y], guess.way, palette.accent);
  if (guess.isAsking) return;
  drawGuessed(view, [x + aside, y], guess.truth, palette.light);
  const said = { size: 14 * scale, bold: true, color: palette.ink, outline: palette.ground };
  const far = aside + GUESS.apart * scale;
  const [typed, after] = guess.words.map((each) => paper.measure(each, said) + 4 * scale);
  const [left, right] = [Math.max(0, x - far - typed), Math.min(x + far, paper.width - after)];
  guess.words.forEach((each, k) => paper.text(k ? right : left, y + 5 * scale, each, said));
}

/** Draw an arrow up or down, a bar for what stays, or both heads while nothing is guessed. */
function drawGuessed({ paper, palette, scale }, [x, y], way, color) {
  const long = 0.5 * GUESS.long * scale;
  const [width, head] = [4 * scale, GUESS.head * scale];
  const draw = (start, end, ink) => {
    const more = 2 * scale * Math.sign(end - start);
    const around = { width: width + 4 * scale, head: head + 6 * scale };
    paper.arrow([x, start - more], [x, end + 2 * more], palette.ground, around);
    paper.arrow([x, start], [x, end], ink, { width, head });
  };
  if (way === null) for (const end of [-long, long]) draw(y + 0.4 * end, y + end, palette.quiet);
  else if (way === 0) {
    const ends = [0, 1].map((k) => [x + (2 * k - 1) * 7 * scale, y]);
    paper.segment(ends[0], ends[1], palette.ground, { width: 2 * width });
    paper.segment(ends[0], ends[1], color, { width });
  } else draw(y + way * long, y - way * long, color);
}
