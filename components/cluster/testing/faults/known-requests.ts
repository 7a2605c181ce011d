import { HTTP_CODE } from "../../../../pkg/apimachinery/errors.ts"
import type { Resource } from "../../../../pkg/apimachinery/resource.ts"
import { TestClusterError } from "../caller.ts"
import type { RequestMatch, RequestRule } from "./request-rules.ts"
import { nearest } from "./suggest.ts"

const VERBS = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"] as const

/**
 * Refuses a match that no request can have, since a test with such a rule would check nothing. @throws TestClusterError
 * with the most similar name
 */
export function checkMatch({ verb, resource, subresource }: RequestMatch, kinds: readonly Resource[]): void {
  for (const one of listed(verb)) check("verb", one, VERBS)
  const plurals = new Set(kinds.map(({ plural }) => plural))
  for (const one of listed(resource)) {
    if (plurals.has(one)) continue
    // People often write the kind, the singular or a short name.
    const meant = kinds.find((kind) =>
      [kind.kind, kind.singular, ...(kind.shortNames ?? [])].some((name) => name.toLowerCase() === one.toLowerCase()),
    )
    refuse("resource", one, meant?.plural ?? nearest(one, plurals))
  }
  if (subresource === undefined) return
  const wanted = new Set(listed(resource))
  const all = kinds
    .filter(({ plural }) => wanted.size === 0 || wanted.has(plural))
    .flatMap(({ subresources: { other, ...own } = {} }) => [...Object.keys(own), ...Object.keys(other ?? {})])
  check("subresource", subresource, new Set(all))
}

/** Refuses an unknown kind. @throws TestClusterError with the most similar kind */
export function checkKind(kind: string, kinds: readonly Resource[]): void {
  const known = kinds.map((one) => one.kind)
  if (known.includes(kind)) return
  const meant = nearest(kind, known)
  throw new TestClusterError(
    "No object has the kind " +
      `${JSON.stringify(kind)}${meant === undefined ? "" : `: do you mean ${JSON.stringify(meant)}?`}`,
  )
}

/** Checks a rule in the same way, and that its error is a known reason. */
export function checkRule(rule: RequestRule, kinds: readonly Resource[]): void {
  checkMatch(rule, kinds)
  if (typeof rule.error === "string") check("error", rule.error, Object.keys(HTTP_CODE))
  if (rule.delay === undefined && rule.error === undefined)
    throw new TestClusterError("Cannot make a rule that does nothing: give it an `error`, or a `delay`")
}

const listed = (value: string | readonly string[] | undefined): readonly string[] =>
  value === undefined ? [] : typeof value === "string" ? [value] : value

function check(what: string, value: string, known: Iterable<string>): void {
  const all = [...known]
  if (!all.includes(value)) refuse(what, value, nearest(value, all))
}

function refuse(what: string, value: string, meant: string | undefined): never {
  throw new TestClusterError(
    `No request has the ${what} ` +
      `${JSON.stringify(value)}${meant === undefined ? "" : `: do you mean ${JSON.stringify(meant)}?`}`,
  )
}
