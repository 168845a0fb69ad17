// Exhibits with modules of their own: the script of a page has those that it shows, see `shown_only`.

import { Pictures } from "./pictures.js";
import { PlaneMap } from "./planemap.js";
import { Sorting } from "./sorting.js";

export const LARGE_KINDS = {
  pictures: Pictures,
  plane: PlaneMap,
  sorting: Sorting,
};
