// Pictures of a lesson: pages that train, each in a frame, made when they come near.

import { made } from "./dom.js";
import { text } from "./texts.js";
import { unzippedText } from "./zipped.js";

const NEARLY = "300px"; // below the window

/** The picture in a place; `packed` is its page, `moment` what it shows at first. */
export class LessonPicture {
  constructor(place, packed, moment) {
    this.place = place;
    this.packed = packed;
    this.moment = moment;
    const near = new IntersectionObserver(
      (seen) => {
        if (!seen.some(({ isIntersecting }) => isIntersecting)) return;
        near.disconnect();
        this.open();
      },
      { rootMargin: NEARLY },
    );
    near.observe(place);
  }

  async open() {
    const page = await unzippedText(this.packed);
    this.address = URL.createObjectURL(new Blob([page], { type: "text/html" }));
    this.frame = made("iframe");
    this.frame.title = text("lesson.picture");
    this.frame.src = `${this.address}#${this.moment}`;
    this.place.replaceChildren(this.frame);
  }

  /** Show a moment, the part of an address. */
  show(moment) {
    this.moment = moment;
    if (this.frame) this.frame.src = `${this.address}#${moment}`;
    this.place.scrollIntoView({ block: "center" });
  }
}
