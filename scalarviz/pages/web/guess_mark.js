// What is asked about a cube: "?" over it and the arrow that is guessed, then beside it the true one.
// In place of arrows a gradient has signs.

const GUESS = { least: 11, long: 22, wide: 9, apart: 18 }; // pixels, from the middle of each

/**
 * Draw the mark of a question over its cube, which is seen at a place; return within how many pixels
 * of it its arrow is dragged.
 */
export function drawGuess({ paper, palette, scale, frame }, place) {
  const { guess } = frame;
  if (!guess?.place || !Number.isFinite(place?.x + place?.y)) return 0;
  const { x, y } = place;
  const [least, long, wide, apart] = Object.values(GUESS).map((each) => each * scale);
  const half = Math.max(least, 1.2 * place.half);
  const aside = half + apart;
  const arrow = (middle, way, color) => {
    paper.box(middle - wide, y - 1.2 * long, 2 * wide, 2.4 * long, palette.panel, { radius: wide });
    for (const end of way === null ? [1, -1] : [way]) {
      const start = y + (way === null ? -0.4 : 1) * end * long;
      const size = { width: 4 * scale, head: 13 * scale };
      const line = y + (way === null ? 0.3 - 0.6 * end : 0.3) * long;
      const sign = { ...look, size: long, color, anchor: "center" };
      if (guess.kind === "gradient") paper.text(middle, line, "0+−".at(end), sign);
      else if (end) paper.arrow([middle, start], [middle, y - end * long], color, size);
      else paper.segment([middle - 0.6 * wide, y], [middle + 0.6 * wide, y], color, size);
    }
  };
  const look = { size: 14 * scale, bold: true, color: palette.ink, outline: palette.ground };
  arrow(x - aside, guess.way, guess.way === null ? palette.quiet : palette.accent);
  if (guess.after === undefined) {
    const box = { radius: 0.3 * half, outline: palette.accent, line: 2 * scale };
    paper.box(x - half, y - half, 2 * half, 2 * half, palette.tray, box);
    paper.text(x, y + 0.5 * half, "?", { ...look, size: 1.4 * half, anchor: "center" });
  } else {
    arrow(x + aside, guess.truth, palette.light);
    const most = paper.width - paper.measure(guess.after, look) - 4 * scale;
    paper.text(Math.min(x + aside + 1.8 * wide, most), y + 5 * scale, guess.after, look);
  }
  return aside + 2 * long;
}
