/** The names of repositories in requests to a registry, and how the rewrites of a mirror change them. */
import { compileRe2 } from "../../../pkg/re2/re2.ts"

/** The parts of a registry's API behind the name of a repository. Source: OCI distribution-spec, Endpoints. */
const REPOSITORY = /^\/(.+)(\/(?:manifests|blobs|tags|referrers)\/.*)$/

/** Returns a path of the registry's API, behind `/v2`, with the name of the repository changed by `rename`. */
export function rewritten(path: string, rename: (repository: string) => string): string {
  const [, repository, rest] = REPOSITORY.exec(path) ?? []
  return repository === undefined ? path : `/${rename(repository)}${rest}`
}

/** Returns a function that applies the first pattern that matches a name. @throws Error for a pattern that is not RE2 */
export function renaming(rewrite: Readonly<Record<string, string>>): (repository: string) => string {
  const rules = Object.entries(rewrite).map(([pattern, to]) => ({ pattern: compileRe2(pattern), to }))
  return (repository) => {
    const rule = rules.find(({ pattern }) => pattern.matcher(repository).find())
    return rule === undefined ? repository : replaced(repository, rule.pattern, rule.to)
  }
}

/** Replaces all matches. Source: Go's Regexp.ReplaceAllString, whose templates are those of k3s. */
function replaced(text: string, pattern: ReturnType<typeof compileRe2>, template: string): string {
  const matcher = pattern.matcher(text)
  const named = pattern.namedGroups()
  const group = (name: string): string => {
    const index = /^\d+$/.test(name) ? Number(name) : Object.hasOwn(named, name) ? named[name]! : Infinity
    return index > matcher.groupCount() ? "" : (matcher.group(index) ?? "")
  }
  let [result, from] = ["", 0]
  while (matcher.find()) {
    result += text.slice(from, matcher.start()) + expanded(template, group)
    from = matcher.end()
  }
  return result + text.slice(from)
}

/** Puts groups in the places of `$1`, `${1}`, `$name` and `${name}`; `$$` is a dollar. Source: Go's Regexp.Expand. */
const expanded = (template: string, group: (name: string) => string): string =>
  template.replace(/\$(?:\$|\{(\w+)\}|(\w+))/g, (_, braced?: string, plain?: string) => {
    const name = braced ?? plain
    return name === undefined ? "$" : group(name)
  })
