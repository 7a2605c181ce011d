/**
 * Returns a key that only the same texts in the same order have. Texts that users write may contain any character, so a
 * separator between them would let two lists of texts share a key: `["a\nb"]` and `["a", "b"]` joined by line feeds.
 * Each text is preceded by its length instead.
 */
export function exactKey(texts: readonly string[]): string {
  let key = ""
  for (const text of texts) key += `${text.length}:${text}`
  return key
}
