import { printed } from "../../../../pkg/terminal/printed.ts"
import type { ApiUse } from "./api-usage.ts"
import { AWAY } from "./nodes-in-turn.ts"
import type { Upgrade } from "./upgrade.ts"

/** Lines of each part that are shown; JSON has all. */
const MOST_LINES = 15
const MOST_OBJECTS = 3

/** Returns what is known of an upgrade beside what happens in the copy. */
export function upgradeText({ from, to, drains, gone, deprecated, fields, tooFar, unknown }: Upgrade): string {
  return printed([
    `Upgrade from ${from} to ${to}: each node is away for ${AWAY} in turn, ${drains ? "and is drained before" : "and its pods run on"}`,
    ...tooFar.map((note) => `  ${note}`),
    ...part(`In use, and not served by ${to}`, gone.map(useLine)),
    ...part(`In use, and deprecated in ${to}`, deprecated.map(useLine)),
    ...part(
      "Fields in use that are deprecated",
      fields.map(({ message, objects }) => `${message} (${some(objects)})`),
    ),
    ...(gone.length + deprecated.length + fields.length === 0 ? ["No deprecated version or field is in use"] : []),
    ...part("Not known", unknown),
  ])
}

function part(title: string, lines: readonly string[]): readonly string[] {
  if (lines.length === 0) return []
  const more = lines.length - MOST_LINES
  return [
    `${title}:`,
    ...lines.slice(0, MOST_LINES).map((line) => `  ${line}`),
    ...(more > 0 ? [`  … and ${more} more (-o json shows them)`] : []),
  ]
}

const useLine = ({ apiVersion, kind, object, by, removedMinor, instead }: ApiUse): string =>
  `${apiVersion} ${object ?? kind}: ${by}; ${instead === undefined ? "nothing replaces it" : `use ${instead}`} (removed in 1.${removedMinor})`

const some = (names: readonly string[]): string =>
  names.length <= MOST_OBJECTS
    ? names.join(", ")
    : `${names.slice(0, MOST_OBJECTS).join(", ")} and ${names.length - MOST_OBJECTS} more`
