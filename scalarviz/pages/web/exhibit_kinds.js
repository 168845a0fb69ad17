// Exhibits with modules of their own: the script of a page has those that it shows, see `module_for`.

import { Pictures } from "./image_exhibit.js";
import { PlaneMap } from "./plane_exhibit.js";
import { Sorting } from "./sorting_exhibit.js";

export const LARGE_KINDS = {
  pictures: Pictures,
  plane: PlaneMap,
  sorting: Sorting,
};
