import type { Rewrite } from "./config/zone.ts"

/** Names do not grow beyond this, whatever the rules say. Source: RFC 1035 3.1. */
const LONGEST_NAME = 253

/**
 * Changes a name by the first rule that fits, and by further ones where that says so. A rule whose result is longer
 * than a name may be is left out. Source: CoreDNS plugin/rewrite/README.md.
 */
export function rewriteName(name: string, rules: readonly Rewrite[]): string {
  let current = name
  for (const rule of rules) {
    const changed = applied(current, rule)
    if (changed === undefined || changed.length > LONGEST_NAME) continue
    current = changed
    if (!rule.goesOn) break
  }
  return current
}

function applied(name: string, { match, from, to }: Rewrite): string | undefined {
  switch (match) {
    case "exact":
      return name === from ? to : undefined
    case "prefix":
      return name.startsWith(from) ? to + name.slice(from.length) : undefined
    case "suffix":
      return name.endsWith(from) ? name.slice(0, name.length - from.length) + to : undefined
    case "substring":
      return name.includes(from) ? name.replaceAll(from, () => to) : undefined
  }
}
