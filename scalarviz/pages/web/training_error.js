// What goes wrong in a training behind a page.

/** An error that a page shows by the key of a text. */
export class TrainingError extends Error {
  constructor(key, message) {
    super(message);
    this.key = key;
  }
}
