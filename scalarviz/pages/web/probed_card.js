// The card of a weight with what a probe has computed: a followed model only.

import { CardLine } from "./story/caption.js";
import { probe_facts } from "./story/probe_maps.js";
import { place_in_array } from "./story/names.js";

/** Return the card of a weight with the numbers of its module for a probe, if known. */
export function withProbe({ arrays }, card, probe) {
  if (!probe || !arrays || !(card?.row >= 0)) return card;
  const path = place_in_array(arrays, card.row).replace(/\.?[^.]*$/, "");
  const lines = probe_facts(probe[1][path] ?? {}, probe[0]);
  const blocks = lines.map(([label, words]) => new CardLine(words, "", label));
  return { ...card, blocks: [...card.blocks, ...blocks] };
}
