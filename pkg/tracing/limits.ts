/**
 * Limits of what one span may contain, since clients choose names, paths and user agents. OpenTelemetry's own are 128
 * for each number and none for texts. Source: OpenTelemetry specification, span limits.
 */
export const MOST_ATTRIBUTES = 64
export const MOST_EVENTS = 64
export const MOST_LINKS = 32
export const MOST_CHARACTERS = 1024

/** Returns a text with at most `MOST_CHARACTERS` UTF-16 code units, and no half of a surrogate pair at its end. */
export const cutText = (text: string): string =>
  text.length <= MOST_CHARACTERS ? text : text.slice(0, MOST_CHARACTERS).toWellFormed()
