/** Reads `env:prod team:platform`. */
export function parseTags(text: string): Record<string, string> {
  const tags: Record<string, string> = {};
  for (const word of text.trim().split(/\s+/).filter(Boolean)) {
    const at = word.search(/[:=]/);
    if (at < 1 || at === word.length - 1) throw new Error(`\`${word}\` is not a tag: write \`key:value\``);
    tags[word.slice(0, at)] = word.slice(at + 1);
  }
  return tags;
}
