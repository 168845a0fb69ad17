// The guide first, methods that every layer inherits after it, documents of the project last.
const SPHINX = { objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 } };
globalThis.Scorer = {
  ...{ ...SPHINX, objPrioDefault: 0, title: 15, partialTitle: 7, term: 5, partialTerm: 2 },
  score: ([page, title, , , score]) => {
    if (/^docs\/(guide|gallery|install)/.test(page)) return score + 5;
    const isInherited = /\.(?!Network|Session|Value|Weight)[A-Z]\w+\.\w+$/.test(title);
    return isInherited || /(^|\/)[A-Z]+$/.test(page) ? score - 10 : score;
  },
};
