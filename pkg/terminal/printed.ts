/**
 * Returns lines as text for a terminal. Names, messages and logs in them are what users wrote: no sign moves the cursor
 * or begins another line. kubectl's own output escapes less, as upstream's does.
 */
export const printed = (lines: readonly string[]): string =>
  lines.map((line) => `${line.replaceAll(/[\0-\x08\n-\x1f\x7f-\x9f\u2028\u2029]/g, shown)}\n`).join("")

const SHOWN: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\x1b": "^[" }

const shown = (sign: string): string => SHOWN[sign] ?? `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`
