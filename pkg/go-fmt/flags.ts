import { runeCount } from "./go-bytes.ts"

/** The flags, width and precision of a verb of a format. */
export interface Flags {
  width: number | undefined
  precision: number | undefined
  minus: boolean
  plus: boolean
  sharp: boolean
  space: boolean
  zero: boolean
  /** `%#v`: the value in Go's syntax. */
  sharpV: boolean
}

export const noFlags = (): Flags => ({
  width: undefined,
  precision: undefined,
  minus: false,
  plus: false,
  sharp: false,
  space: false,
  zero: false,
  sharpV: false,
})

/** Returns a text filled up to the width of the flags. */
export function padded(text: string, flags: Flags, zero = flags.zero): string {
  const missing = (flags.width ?? 0) - runeCount(text)
  if (missing <= 0) return text
  return flags.minus ? text + " ".repeat(missing) : (zero ? "0" : " ").repeat(missing) + text
}
