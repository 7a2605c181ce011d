import { padded, type Flags } from "./flags.ts"
import { bytesOf } from "./go-bytes.ts"
import { canBackquote, quoted } from "./quote.ts"

/** Returns a text as a verb prints it; undefined for a verb that prints no texts. Source: Go fmt/format.go. */
export function formatText(text: string, verb: string, flags: Flags): string | undefined {
  switch (verb) {
    case "v":
      return flags.sharpV ? inQuotes(text, flags) : padded(cut(text, flags), flags)
    case "s":
      return padded(cut(text, flags), flags)
    case "q":
      return inQuotes(text, flags)
    case "x":
    case "X":
      return hexadecimal(text, verb, flags)
    default:
      return undefined
  }
}

/** Returns at most as many characters as the precision says. */
const cut = (text: string, { precision }: Flags): string =>
  precision === undefined || text.length <= precision ? text : Array.from(text).slice(0, precision).join("")

function inQuotes(text: string, flags: Flags): string {
  const shown = cut(text, flags)
  return padded(flags.sharp && canBackquote(shown) ? `\`${shown}\`` : quoted(shown, flags.plus), flags)
}

function hexadecimal(text: string, verb: "x" | "X", flags: Flags): string {
  const all = bytesOf(text)
  const bytes = flags.precision === undefined ? all : all.subarray(0, flags.precision)
  if (bytes.length === 0) return padded("", flags, flags.zero && !flags.minus)
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0"))
  const prefix = flags.sharp ? "0x" : ""
  const digits = flags.space ? hex.map((pair) => prefix + pair).join(" ") : prefix + hex.join("")
  return padded(verb === "X" ? digits.toUpperCase() : digits, flags)
}
