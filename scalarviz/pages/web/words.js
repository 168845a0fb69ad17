// The words of the picture, from the table of texts.

/** The words of a key, with its fields filled in; `{count:,}` groups thousands. */
export function saidIn(scene, key, fields = {}) {
  const words = scene.words[key] ?? key;
  return words.replace(/\{(\w+)(:,)?\}/g, (whole, name, grouped) => {
    if (!(name in fields)) return whole;
    return grouped ? fields[name].toLocaleString("en-US") : String(fields[name]);
  });
}
