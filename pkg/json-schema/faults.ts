import { quoted } from "../go-fmt/quote.ts"
import { pointerOf } from "./pointer.ts"

/** The way to a value, from its end. */
export interface Path {
  readonly step: string
  readonly above: Path | undefined
}

/** What is wrong with a value. */
export interface Fault {
  readonly path: Path | undefined
  readonly text: string
  readonly causes: readonly Fault[]
  /** `reference`: a reference to a schema that refuses it. `group`: several keywords of one schema refuse it. */
  readonly kind?: "reference" | "group"
}

/** The longest text about faults, in characters: it becomes a condition of an object. */
const LONGEST = 16 * 1024

/** Returns a text in single quotes, as messages have it. */
export const quote = (text: string): string =>
  `'${quoted(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`

/** Returns digits with a comma between thousands. */
function grouped(digits: string): string {
  const groups: string[] = []
  for (let end = digits.length; end > 0; end -= 3) groups.unshift(digits.slice(Math.max(0, end - 3), end))
  return groups.join(",")
}

/** Returns a whole number as messages have it: with commas between thousands. */
export const count = (value: number): string => grouped(String(value))

const RAISED: Readonly<Record<string, string>> = {
  "-": "⁻",
  "+": "",
  ...Object.fromEntries(Array.from("⁰¹²³⁴⁵⁶⁷⁸⁹").entries()),
}

/** Returns any number as messages have it. Source of the form: golang.org/x/text/message, `%v` in English. */
export function numeral(value: number): string {
  const [mantissa = "", power = ""] = value.toExponential().split("e")
  const exponent = Number(power)
  if (exponent < -4 || exponent >= 6) {
    const raised = Array.from(`${power[0]}${power.slice(1).padStart(2, "0")}`, (sign) => RAISED[sign]).join("")
    return `${mantissa}\u202f×\u202f10${raised}`
  }
  const [whole = "", ...fraction] = String(value).split(".")
  return [grouped(whole), ...fraction].join(".")
}

function pointerTo(path: Path | undefined): string {
  const steps: string[] = []
  for (let at = path; at !== undefined; at = at.above) steps.push(at.step)
  return pointerOf(steps.toReversed())
}

/**
 * Returns faults as a list with indents, one in a line. Source of the form: santhosh-tekuri/jsonschema v6 output.go.
 * What goes beyond 16,384 characters is left out.
 */
export function listed(faults: readonly Fault[]): string {
  const lines: string[] = []
  let length = 0
  const add = ({ path, text, causes, kind }: Fault, indent: number): void => {
    if (length > LONGEST) return
    const isSkipped = kind === "reference" && causes.length === 1
    if (!isSkipped) {
      const line = `${"  ".repeat(indent)}- at ${quote(pointerTo(path))}: ${text}`
      lines.push(line.length > LONGEST - length ? `${line.slice(0, LONGEST - length)}… (the rest is left out)` : line)
      length += line.length
    }
    for (const cause of causes) add(cause, isSkipped ? indent : indent + 1)
  }
  for (const fault of faults) add(fault, 0)
  return lines.join("\n")
}
